// Package state is the truth of a cluster: its nodes, jobs, names and
// settings, as the replicated log has made them. Every server applies the same
// entries in the same order and so holds the same state, byte for byte.
//
// It is a machine without I/O and without a clock: ids, times and places come
// in with the entry, decided by the leader. It checks that an entry fits the
// state, and changes nothing when it does not; it decides nothing. In
// particular it does not know the rules of the gang matrix (package gang does),
// and it does not know the slices of time, which are no log entries.
//
//	s := state.New()
//	if err := s.Apply(entry); err != nil {
//		// the state is what it was
//	}
//	image, err := s.Snapshot()
//	other, err := state.Restore(image) // equal to s
//
// Records handed out (Job, Node, Name) are never changed afterwards: a change
// makes a new record. They may be read while later entries are applied.
package state
