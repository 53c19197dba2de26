// Scrun runs one parallel program on the cluster.
//
// It reads its command line (package options), finds the daemon of this host
// (package client) or starts a cluster of its own for as long as the job lasts,
// submits the job, attaches to it, and ends as the job ends. It decides nothing
// about the job and links no server and no agent: a program that is started
// this often must itself start fast, and scored's libraries would cost it
// another millisecond and a half. So the embedded cluster is a child, scored
// embedded, which also cleans up after a scrun that was killed.
//
//	main ── options ── reach: client or embedded child
//	  │
//	session ── receiver ── unshown ── display ────────┐
//	  │  └──── pump: standard input to the job        ├─ one select
//	  └─────── signals: ^C, the others passed on ─────┘
package main
