// Package parentwatch ties a child process to its parent. The child reports that it is ready or why
// it failed, and learns when the parent ends, even by SIGKILL. Each holds an end of a socket pair;
// the child's end is descriptor 3.
//
// Use it for processes of one command (the embedded cluster of scrun, the
// agents of scored dev). Do not use it for daemons, which outlive the process
// that starts them.
//
// The parent:
//
//	child, err := parentwatch.Start(ctx, exec.Command("scored", "embedded"))
//	if err != nil { ... } // the child's own sentence
//	defer child.Stop()
//	use(child.ReadyText())
//
// The child:
//
//	line, err := parentwatch.Inherited()
//	line.Ready(socket)
//	<-line.Gone()
package parentwatch
