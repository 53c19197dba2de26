// Package state holds the replicated state of a cluster: its nodes, jobs, names,
// users and settings. Every server applies the same log entries in the same order
// and so has the same state, byte for byte.
//
// State is a machine without I/O and without a clock: the leader decides ids, times
// and places, and the entry carries them. Apply checks that an entry fits the state,
// and changes nothing if it does not. State does not know the rules of the gang
// matrix (see package gang) or the time slices, which are not in the log.
//
//	s := state.New()
//	if err := s.Apply(entry); err != nil {
//		// s is unchanged
//	}
//	image, err := s.Snapshot()
//	other, err := state.Restore(image) // equal to s
//
// Records that State returns (Job, Node, Name) never change: an update makes a new
// record. They may be read while later entries are applied.
package state
