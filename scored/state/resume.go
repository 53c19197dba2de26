package state

// JobLeap is how many job numbers are skipped when a cluster continues from a saved state: more
// than are submitted between two saves, so that no job gets the number of a job whose processes may
// still run on a node.
const JobLeap = 1_000_000

// Resume prepares a saved state to continue from. What happened after the save is unknown.
// Therefore job numbers skip ahead by JobLeap, and no join token is valid, since any may have been
// used. A submission with a key from before now may or may not have been carried out.
func (s *State) Resume(now int64) {
	s.nextJob += JobLeap
	clear(s.tokens)
	s.submissions = newSubmissions()
	s.submissions.before = max(s.nanos, now)
}
