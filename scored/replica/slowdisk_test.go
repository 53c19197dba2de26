package replica

import "testing"

// On a disk whose writes take almost as long as candidates usually wait, another replica leads
// nevertheless, and commits.
func TestElectionOnSlowDisks(t *testing.T) {
	s := begin(t, 1)
	s.commit("a", 1, "n1")
	s.agree("[n1]")
	defer inject(t, "log.store=delay:400ms")()
	s.close("a")
	delete(s.plug, "a")
	s.await("another commits", func() bool {
		next, term := s.leader("b", "c")
		return s.all[next].Commit(nodeEntry(term, 2, "n2")) == nil
	})
	s.agree("[n1 n2]")
}
