//go:build !race

package replica

import "testing"

// A server comes back at another address. raft reads the peer's ID without the lock under which it
// replaces the address (replication.go, updateLastAppended), which the race detector may see.
func TestServerMoves(t *testing.T) {
	s := begin(t, steady)
	s.close("c")
	delete(s.plug, "c")
	s.open("c", StartNever)
	s.join("a", "c")
	s.commit("a", 1, "n1")
	s.agree("[n1]")
}
