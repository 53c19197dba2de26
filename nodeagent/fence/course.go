package fence

// course is an all-gather in rounds: in round r every node sends some pieces that it has by then to
// one node, and gets others from one. After the last round it has all.
type course interface {
	// rounds is the number of rounds.
	rounds() int
	// to and from are the nodes that a node sends to, and receives from, in a round.
	to(self, round int) int
	from(self, round int) int
	// sent returns the pieces that a node sends in a round: those of count nodes from first on,
	// where node 0 follows the last.
	sent(self, round int) (first, count int)
}

// ring sends to the next node what came from the previous one.
type ring int

func (n ring) rounds() int                 { return int(n) - 1 }
func (n ring) to(self, _ int) int          { return (self + 1) % int(n) }
func (n ring) from(self, _ int) int        { return (self + int(n) - 1) % int(n) }
func (n ring) sent(self, r int) (_, _ int) { return (self + int(n) - r) % int(n), 1 }

// bruck sends everything that a node has (1, 2, 4 ... pieces, beginning with its own) to the node
// that far before it, and in the last round what is missing there (Bruck and others, 1997: the
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
