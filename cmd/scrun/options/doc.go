// Package options parses the command line of scrun: its flags, with the meaning that users of srun
// know, and the job that they describe.
//
// It only parses and checks. It contacts no cluster and starts nothing, so a command line with a
// mistake has no effect. Read command.go (flags) and options.go (the result) first.
//
//	command := options.Command(func(o *options.Options) error {
//		spec, err := o.Spec(options.Here())
//		...
//	})
//	err := command.Execute()
package options
