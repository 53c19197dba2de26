// Package parentwatch ties a child process to its parent: the child tells when it
// is ready or why it cannot be, and it learns of the parent's end however that
// came, also by signal 9. It is a socket pair; its end in the child is
// descriptor 3.
//
// It is for processes of one command (the embedded cluster of scrun, the agents
// of scored dev). It is not for daemons, which are meant to outlive others.
//
// The parent:
//
//	child, err := parentwatch.Start(ctx, exec.Command("scored", "embedded"))
//	if err != nil { ... } // the child's own sentence
//	defer child.Stop()
//	use(child.Said())
//
// The child:
//
//	line, err := parentwatch.Inherited()
//	line.Ready(socket)
//	<-line.Gone()
package parentwatch
