// Scrun runs one parallel program on the cluster.
//
// It reads its command line (package options) and finds the daemon of this host (package client) or
// starts a cluster of its own, which lives as long as the job. It submits the job, attaches to it,
// and ends with the job's exit code. It makes no decision about the job.
//
// scrun links neither server nor agent: it is started often, so it must start fast, and the
// libraries of scored would cost another millisecond and a half. The cluster of its own is
// therefore a child process (scored embedded), which also cleans up if scrun is killed.
//
//	main ── options ── dial: daemon or embedded child
//	  │
//	session ── receive ── unshown ── display ─────────┐
//	  │  └──── forwarder: standard input to the job   ├─ one select
//	  └─────── signals: ^C, others forwarded ─────────┘
//
// Read main.go (the steps until the job is submitted) and session.go (the loop after that) first.
package main
