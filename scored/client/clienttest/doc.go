// Package clienttest serves a scripted daemon on a Unix socket, for tests of
// the programs that users type. It holds no state and schedules nothing: each
// test says how its daemon answers.
//
//	socket := clienttest.Serve(t, clienttest.Daemon{
//		Submit: func(spec *scorev1.JobSpec) (uint64, error) { return 7, nil },
//		Attach: func(job *clienttest.Attachment) { job.Print(0, 1, "hello\n"); job.End(0, "") },
//	})
package clienttest
