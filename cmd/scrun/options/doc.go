// Package options is the command line of scrun: its flags, with the meaning that users of srun
// know, and their conversion to a job.
//
// It only reads and checks. It contacts no cluster and starts nothing, so a command line with a
// mistake has no effect. Read command.go (the flags) and options.go (checks and conversion) first.
//
//	command := options.Command(func(o *options.Options) error {
//		spec, err := o.Spec(options.Here())
//		...
//	})
//	err := command.Execute()
package options
