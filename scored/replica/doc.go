// Package replica keeps one copy of the cluster's state under the Raft
// protocol (hashicorp/raft): entries go through the log, the log is on disk
// before anything is acknowledged, and snapshots keep it short.
//
// It decides nothing and reads no entry; package state applies them, package leader makes them.
// Without a Network a replica is alone and elects itself at once; with one it is the first of a
// cluster, or waits to be made a member. Its data directory is locked, so that a second server on
// it is refused, and read through when it is opened, so that damage is told. When its disk fails
// the replica leads no more, and its process should end. DESIGN.md says why, and how servers come
// and go.
//
//	r, err := replica.Open(replica.Options{Dir: "/var/lib/score"})
//	if err != nil {
//		return err
//	}
//	defer r.Close()
//	lead := <-r.Leadership() // lead.Term
//	err = r.Commit(&statepb.Entry{Term: lead.Term, TimeNanos: now, Commands: commands})
//	r.Read(func(s *state.State) { job = s.Job(7) })
package replica
