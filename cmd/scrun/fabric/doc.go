// Package fabric decides whether the ranks of a job that do not use package pm communicate over
// channels nevertheless: by libfabric, which the library of pm/lib replaces. It finds out which
// networks a program can use, where the library is, and which variables make MPI libraries use it.
//
// It starts nothing and changes nothing; it only reads files. Read choose.go first,
// then program.go (kinds of programs) and environ.go (variables).
//
//	program := fabric.Inspect(argv, dir, path, libraryPath)
//	choice, err := fabric.Choose(fabric.Request{Wish: fabric.PM, Program: program, Nodes: 2})
//	if choice.Use {
//		dir, err := fabric.Find(fabric.Here())
//		env, kept := fabric.Environ(env, dir, fabric.Target{IfAble: choice.IfAble}, settings)
//	}
package fabric
