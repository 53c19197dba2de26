// Package replica keeps one copy of the cluster's state under the Raft
// protocol (hashicorp/raft): entries go through the log, the log is on disk
// before anything is acknowledged, and snapshots keep it short.
//
// It decides nothing and reads no entry; package state applies them, package
// leader makes them. A cluster has one replica for now: it elects itself at
// once. Its data directory is locked, so that a second server on it is refused.
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
