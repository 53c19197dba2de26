// Package options is the command line of scrun: its flags, in the meaning that
// users of srun know, and what they make of a job.
//
// It only reads and checks. It contacts no cluster and starts nothing, so a
// command line with a mistake has changed nothing.
//
//	command := options.Command(func(o *options.Options) error {
//		spec, err := o.Spec(options.Here())
//		...
//	})
//	err := command.Execute()
package options
