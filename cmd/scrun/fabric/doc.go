// Package fabric decides whether ranks that do not use package pm communicate over channels through
// libfabric, which the library of pm/lib replaces. It determines what a program can use, where the
// library is, and which variables make MPI libraries use it. Read choose.go first.
//
// It starts nothing and changes nothing; only Inspect and Find look at files.
//
//	program := fabric.Inspect(argv, dir, path, libraryPath)
//	choice, err := fabric.Choose(fabric.Request{Wish: fabric.PM, Program: program, Nodes: 2})
//	if choice.Use {
//		dir, err := fabric.Find(fabric.Here())
//		env, kept := fabric.Environ(env, dir, settings)
//	}
package fabric
