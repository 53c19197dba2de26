package pmi

import (
	"cmp"
	"fmt"
	"slices"
)

// GroupKind is a collective of some processes.
type GroupKind uint8

// The kinds; each has sequences of its own.
const (
	GroupFence GroupKind = iota + 1
	GroupConnect
	GroupDisconnect
	// GroupConstruct and GroupDestruct are named: those of other names are others, though the
	// processes are the same. A construct gives all processes the same number.
	GroupConstruct
	GroupDestruct
)

// named reports whether collectives of the kind have names.
func (k GroupKind) named() bool { return k == GroupConstruct || k == GroupDestruct }

// groups holds the collectives of some processes, which may be of several jobs. Each node of a
// group reports to the group's first node, by job and index, when all its processes have come. When
// all nodes have reported, the first node notifies them.
//
//	open --first process here--> filling --last one here--> waiting --all nodes--> open (next number)
//	          any --a process has departed, a node is lost--> broken
type groups struct {
	by map[string]*group
	// procs is the number of processes of all groups.
	procs int
	// constructed counts the constructs whose numbers this node has drawn.
	constructed uint64
}

type group struct {
	key   string
	kind  GroupKind
	procs []Proc
	// number is what a construct gives its processes, once it is over.
	number uint64
	// seq numbers the collectives of the group from 1.
	seq uint64
	// arrived holds the requests of this node's processes in the present collective.
	arrived []waiter
	waiting bool

	// placed is set once the places of all jobs are known. Then nodes holds the group's nodes in
	// order, and members its processes on this node.
	placed  bool
	nodes   []address
	members []int

	// reported holds, on the first node, the latest collective that each node has reported.
	reported map[address]uint64
	// broken is set once a process of the group cannot come any more: then all arrivals are
	// refused.
	broken bool
}

// GroupIn brings a rank into a collective of some processes, which must include it. Its kind has no
// names. EventGroup answers. The error wraps ErrMalformed, ErrOrder or ErrFull.
func (e *Engine) GroupIn(rank int, tag Tag, kind GroupKind, procs []Proc) error {
	return e.NamedGroupIn(rank, tag, kind, "", procs)
}

// NamedGroupIn is GroupIn for a collective with a name.
func (e *Engine) NamedGroupIn(rank int, tag Tag, kind GroupKind, name string, procs []Proc) error {
	if len(name) > MaxGroupName {
		return fmt.Errorf("%w: a group's name of %d bytes", ErrMalformed, len(name))
	}
	if !e.named(rank, procs) {
		return fmt.Errorf("%w: a process calls a collective of processes that do not include it", ErrMalformed)
	}
	g, err := e.group(kind, name, procs)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(g.arrived, func(w waiter) bool { return w.rank == rank }) {
		return fmt.Errorf("%w: a second collective of the same processes before the first was answered", ErrOrder)
	}
	if err := e.hold(rank); err != nil {
		return err
	}
	g.arrived = append(g.arrived, waiter{rank: rank, tag: tag})
	e.advance(g)
	return nil
}

// named reports whether procs include a rank of this job.
func (e *Engine) named(rank int, procs []Proc) bool {
	return slices.ContainsFunc(procs, func(p Proc) bool {
		return p.Job == e.info.Job && (p.Rank == rank || p.Rank == wholeJob)
	})
}

// group returns the group of some processes, which it makes if necessary.
func (e *Engine) group(kind GroupKind, name string, procs []Proc) (*group, error) {
	procs = canonical(procs)
	if len(procs) == 0 {
		return nil, fmt.Errorf("%w: a collective of no process", ErrMalformed)
	}
	key := groupKey(kind, name, procs)
	if g := e.groups.by[key]; g != nil {
		return g, nil
	}
	if len(e.groups.by) == MaxGroups || e.groups.procs+len(procs) > MaxGroupProcs {
		return nil, fmt.Errorf("%w: more than %d sets of processes do collectives of their own", ErrFull, MaxGroups)
	}
	g := &group{key: key, kind: kind, procs: procs, seq: 1, reported: make(map[address]uint64)}
	if err := e.place(g); err != nil {
		return nil, err
	}
	if e.groups.by == nil {
		e.groups.by = make(map[string]*group)
	}
	e.groups.by[key] = g
	e.groups.procs += len(procs)
	return g, nil
}

func (e *Engine) sortedGroups() []*group {
	all := make([]*group, 0, len(e.groups.by))
	for _, g := range e.groups.by {
		all = append(all, g)
	}
	slices.SortFunc(all, func(x, y *group) int { return cmp.Compare(x.key, y.key) })
	return all
}

// advance takes the steps that the arrivals allow.
func (e *Engine) advance(g *group) {
	switch {
	case g.broken:
		e.finish(g, Missing)
		return
	case !g.placed:
		return
	case !g.waiting && e.lacksMember(g):
		e.breakGroup(g)
		return
	case g.waiting || len(g.arrived) < len(g.members):
		return
	}
	g.waiting = true
	first := g.nodes[0]
	if first != e.here() {
		e.relay(first, relayed{kind: relayIn, id: g.seq, group: g.key, outcome: Found})
		return
	}
	g.reported[first] = g.seq
	e.finishIfComplete(g)
}

// lacksMember reports whether a process here will not come any more.
func (e *Engine) lacksMember(g *group) bool {
	return slices.ContainsFunc(g.members, func(rank int) bool {
		return e.isDeparted(rank) && !slices.ContainsFunc(g.arrived, func(w waiter) bool { return w.rank == rank })
	})
}

// breakGroup ends the group's collectives on all nodes.
func (e *Engine) breakGroup(g *group) {
	g.broken = true
	if first := g.nodes[0]; first != e.here() {
		e.relay(first, relayed{kind: relayIn, id: g.seq, group: g.key, outcome: Missing})
	} else {
		e.notifyOthers(g, Missing)
	}
	e.finish(g, Missing)
}

// finish answers the processes here and begins the next collective.
func (e *Engine) finish(g *group, outcome Outcome) {
	for _, w := range g.arrived {
		e.state(w.rank).held--
		e.emit(Event{Kind: EventGroup, Rank: w.rank, Tag: w.tag, OK: outcome == Found, Group: GroupResult{g.kind, g.procs, g.number}})
	}
	g.arrived, g.waiting = nil, false
	g.seq++
	if g.kind.named() && outcome == Found {
		// Programs draw a new name for each group. All nodes have come, so none still speaks of
		// this one.
		delete(e.groups.by, g.key)
		e.groups.procs -= len(g.procs)
	}
}

// constructNumber draws a number that no other construct of any job has: this node's job, its
// index, and how many it has drawn before.
func (e *Engine) constructNumber() uint64 {
	const nodeBits, countBits = 16, 22 // for 65,536 nodes with 4 million constructs, and 67 million jobs
	e.groups.constructed++
	number := e.info.Job<<nodeBits | uint64(e.info.NodeIndex)%(1<<nodeBits)
	return number<<countBits | e.groups.constructed%(1<<countBits)
}

// breakGroupsOf breaks the collectives that wait for a rank which has departed.
func (e *Engine) breakGroupsOf(rank int) {
	for _, g := range e.sortedGroups() {
		if g.placed && !g.broken && slices.Contains(g.members, rank) {
			e.advance(g)
		}
	}
}
