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
)

// groups are the collectives of some processes, which may be of several jobs. The
// first node of a group, by job and index, hears from each node of the group that
// all its processes have come, and tells them when that is true of all.
//
//	open --first process here--> filling --last one here--> waiting --all nodes--> open (next number)
//	          any --a process has departed, a node is lost--> broken
type groups struct {
	by map[string]*group
	// procs counts the processes of all of them.
	procs int
}

type group struct {
	key   string
	procs []Proc
	// seq numbers the collectives of the group from 1.
	seq uint64
	// arrived are the requests of this node's processes in the present one.
	arrived []waiter
	waiting bool

	// placed is set once all jobs' places are known; then nodes are the group's,
	// in order, and members its processes on this node.
	placed  bool
	nodes   []address
	members []int

	// heard is, on the first node, the latest number that each node has reported.
	heard map[address]uint64
	// broken is set once a process of the group can come no more: then all
	// arrivals are refused.
	broken bool
}

// GroupIn brings a rank into a collective of some processes, itself among them.
// EventGroup answers. The error wraps ErrMalformed, ErrOrder or ErrFull.
func (e *Engine) GroupIn(rank int, tag Tag, kind GroupKind, procs []Proc) error {
	if !e.named(rank, procs) {
		return fmt.Errorf("%w: a collective of processes by one that is not among them", ErrMalformed)
	}
	g, err := e.group(kind, procs)
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

// named reports whether a rank of this job is among processes.
func (e *Engine) named(rank int, procs []Proc) bool {
	return slices.ContainsFunc(procs, func(p Proc) bool {
		return p.Job == e.info.Job && (p.Rank == rank || p.Rank == wholeJob)
	})
}

// group finds or begins the group of some processes.
func (e *Engine) group(kind GroupKind, procs []Proc) (*group, error) {
	procs = canonical(procs)
	if len(procs) == 0 {
		return nil, fmt.Errorf("%w: a collective of no process", ErrMalformed)
	}
	key := groupKey(kind, procs)
	if g := e.groups.by[key]; g != nil {
		return g, nil
	}
	if len(e.groups.by) == MaxGroups || e.groups.procs+len(procs) > MaxGroupProcs {
		return nil, fmt.Errorf("%w: more than %d sets of processes do collectives of their own", ErrFull, MaxGroups)
	}
	g := &group{key: key, procs: procs, seq: 1, heard: make(map[address]uint64)}
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

// advance goes on as far as the arrivals allow.
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
	g.heard[first] = g.seq
	e.notifyAll(g)
}

// lacksMember reports whether a process here will not come any more.
func (e *Engine) lacksMember(g *group) bool {
	return slices.ContainsFunc(g.members, func(rank int) bool {
		return e.isDeparted(rank) && !slices.ContainsFunc(g.arrived, func(w waiter) bool { return w.rank == rank })
	})
}

// breakGroup ends the group's collectives, everywhere.
func (e *Engine) breakGroup(g *group) {
	g.broken = true
	if first := g.nodes[0]; first != e.here() {
		e.relay(first, relayed{kind: relayIn, id: g.seq, group: g.key, outcome: Missing})
	} else {
		e.notifyOthers(g, Missing)
	}
	e.finish(g, Missing)
}

// finish answers the processes here and opens the next collective.
func (e *Engine) finish(g *group, outcome Outcome) {
	for _, w := range g.arrived {
		e.state(w.rank).held--
		e.emit(Event{Kind: EventGroup, Rank: w.rank, Tag: w.tag, OK: outcome == Found})
	}
	g.arrived, g.waiting = nil, false
	g.seq++
}

// groupLacks breaks the collectives that wait for a rank which has departed.
func (e *Engine) groupLacks(rank int) {
	for _, g := range e.sortedGroups() {
		if g.placed && !g.broken && slices.Contains(g.members, rank) {
			e.advance(g)
		}
	}
}
