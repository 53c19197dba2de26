package state

// JobLeap is how many job numbers are left out when a cluster goes on from an earlier
// state: more than are submitted between two saves, so that no job gets the number of
// one whose processes may still run on a node.
const JobLeap = 1_000_000

// Resume makes a state of an earlier moment fit to go on from: what happened since is
// not known any more. Job numbers go on far above, no token counts, as it may
// have been used, and of submissions that were made before now nobody knows whether
// they were carried out.
func (s *State) Resume(now int64) {
	s.nextJob += JobLeap
	clear(s.tokens)
	s.submissions = newSubmissions()
	s.submissions.before = max(s.nanos, now)
}
