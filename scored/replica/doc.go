// Package replica keeps one copy of the cluster's state with the Raft protocol (hashicorp/raft):
// the log is on disk before an entry is acknowledged, and snapshots keep it short.
//
// A replica neither makes nor interprets entries: package leader makes them, and package state
// applies them. Without a Network it is the only replica and elects itself at once. With one it
// starts a new cluster, or waits to be made a member. Open locks the data directory, so that no
// second server uses it, and reads all of it, so that damage is reported. When the disk fails, the
// replica stops leading, and its process should end. See DESIGN.md for the reasons, and for how
// servers join and leave.
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
