package fence

// course is the schedule of an all-gather in rounds: in each round every node sends some of its
// pieces to one node, and gets others from one node. After the last round it has all pieces.
type course interface {
	// rounds returns the number of rounds.
	rounds() int
	// to and from return the nodes that a node sends to, and receives from, in a round.
	to(self, round int) int
	from(self, round int) int
	// sent returns the pieces that a node sends in a round: the pieces of count nodes from first
	// on; node 0 follows the last node.
	sent(self, round int) (first, count int)
}

// ring forwards the piece of the previous node to the next one.
type ring int

func (n ring) rounds() int                 { return int(n) - 1 }
func (n ring) to(self, _ int) int          { return (self + 1) % int(n) }
func (n ring) from(self, _ int) int        { return (self + int(n) - 1) % int(n) }
func (n ring) sent(self, r int) (_, _ int) { return (self + int(n) - r) % int(n), 1 }

// bruck sends all pieces of a node (1, 2, 4 ... from its own on) to the node as many places before
// it, and in the last round only the pieces that are missing there (Bruck and others, 1997: the
// concatenation).
type bruck int

func (n bruck) rounds() int {
	r := 0
	for 1<<r < int(n) {
		r++
	}
	return r
}

func (n bruck) to(self, r int) int   { return (self + int(n) - 1<<r) % int(n) }
func (n bruck) from(self, r int) int { return (self + 1<<r) % int(n) }

func (n bruck) sent(self, r int) (first, count int) { return self, min(1<<r, int(n)-1<<r) }
