package pmi

import (
	"cmp"
	"encoding/binary"
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

// Proc names a process of any job.
type Proc struct {
	Job uint64
	// Rank is -1 for all of the job.
	Rank int
}

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

	// heard is, on the first node, who has come to which number.
	heard map[address]uint64
	// broken is set once a process of the group can come no more: all that come
	// are told so.
	broken bool
}

// GroupIn brings a rank into a collective of some processes, itself among them.
// EventGroup answers. The error wraps ErrMalformed, ErrOrder or ErrFull.
func (e *Engine) GroupIn(rank int, tag Tag, kind GroupKind, procs []Proc) error {
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

// WholeJob reports whether processes are exactly the ranks of this job.
func (e *Engine) WholeJob(procs []Proc) bool {
	if len(procs) == 1 && procs[0].Rank == wholeJob {
		return procs[0].Job == e.info.Job
	}
	if len(procs) < e.Size() {
		return false
	}
	seen := make([]bool, e.Size())
	left := e.Size()
	for _, p := range procs {
		if p.Job != e.info.Job || p.Rank >= e.Size() {
			return false
		}
		if p.Rank == wholeJob {
			return true
		}
		if !seen[p.Rank] {
			seen[p.Rank] = true
			left--
		}
	}
	return left == 0
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
	if e.groups.by == nil {
		e.groups.by = make(map[string]*group)
	}
	e.groups.by[key] = g
	e.groups.procs += len(procs)
	return g, e.place(g)
}

// opened goes on with a group whose places are known: the first node tells the
// others of it, who may know already that it cannot be.
func (e *Engine) opened(g *group) {
	if g.nodes[0] != e.here() {
		return
	}
	for _, a := range g.nodes[1:] {
		e.relay(a, relayed{kind: relayOpen, id: g.seq, group: g.key, outcome: Found})
	}
}

// canonical orders processes and drops repetitions: callers name them in
// whatever order. All of a job stands for each of it.
func canonical(procs []Proc) []Proc {
	procs = slices.Clone(procs)
	slices.SortFunc(procs, func(x, y Proc) int {
		return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.Rank, y.Rank))
	})
	procs = slices.Compact(procs)
	all := make(map[uint64]bool)
	return slices.DeleteFunc(procs, func(p Proc) bool {
		if p.Rank == wholeJob {
			all[p.Job] = true // it sorts first
			return false
		}
		return all[p.Job]
	})
}

// groupKey writes processes as the name of their group.
func groupKey(kind GroupKind, procs []Proc) string {
	key := []byte{byte(kind)}
	for _, p := range procs {
		key = binary.AppendUvarint(key, p.Job)
		key = binary.AppendUvarint(key, uint64(p.Rank+1))
	}
	return string(key)
}

// readGroup is the inverse of groupKey.
func readGroup(key string) (GroupKind, []Proc, bool) {
	r := reader{text: key}
	kind := GroupKind(r.number())
	var procs []Proc
	for r.left() > 0 {
		p := Proc{Job: r.number(), Rank: int(r.number()) - 1}
		if r.bad || p.Rank >= MaxRanks || len(procs) == MaxGroupProcs {
			return 0, nil, false
		}
		procs = append(procs, p)
	}
	known := kind == GroupFence || kind == GroupConnect || kind == GroupDisconnect
	return kind, procs, known && !r.bad && key == groupKey(kind, canonical(procs))
}

// place finds out on which nodes the group is. Jobs whose places are not known
// are asked for; groupsPlaced comes back then.
func (e *Engine) place(g *group) error {
	at := make(map[address]bool)
	waits := false
	for _, p := range g.procs {
		rankNode := e.info.RankNode
		if p.Job != e.info.Job {
			other, err := e.otherJob(p.Job)
			if err != nil {
				return err
			}
			if rankNode = other.rankNode; rankNode == nil {
				waits = true
				continue
			}
		}
		if p.Rank >= len(rankNode) {
			return fmt.Errorf("%w: rank %d of job %d, which has %d", ErrMalformed, p.Rank, p.Job, len(rankNode))
		}
		e.placeProc(g, at, p, rankNode)
	}
	if waits {
		g.members = nil
		return nil
	}
	g.placed = true
	for a := range at {
		g.nodes = append(g.nodes, a)
	}
	slices.SortFunc(g.nodes, func(x, y address) int {
		return cmp.Or(cmp.Compare(x.job, y.job), cmp.Compare(x.node, y.node))
	})
	e.opened(g)
	return nil
}

func (e *Engine) placeProc(g *group, at map[address]bool, p Proc, rankNode []int32) {
	ranks := rankNode
	first := 0
	if p.Rank != wholeJob {
		ranks, first = rankNode[p.Rank:p.Rank+1], p.Rank
	}
	for i, node := range ranks {
		a := address{p.Job, int(node)}
		at[a] = true
		if a == e.here() {
			g.members = append(g.members, first+i)
		}
	}
}

func (e *Engine) here() address { return address{e.info.Job, e.info.NodeIndex} }

// groupsPlaced goes on with the groups that waited for places.
func (e *Engine) groupsPlaced() {
	for _, g := range e.sortedGroups() {
		if g.placed {
			continue
		}
		if err := e.place(g); err != nil || e.lacksPlaces(g) {
			g.broken = true
			e.finish(g, Missing)
			continue
		}
		e.advance(g)
	}
}

// lacksPlaces reports whether a job of the group cannot be found.
func (e *Engine) lacksPlaces(g *group) bool {
	return slices.ContainsFunc(g.procs, func(p Proc) bool {
		other := e.jobs[p.Job]
		return other != nil && other.failed
	})
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
	e.tellAll(g)
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
		e.tellOthers(g, Missing)
	}
	e.finish(g, Missing)
}

// tellAll is, on the first node, the end of a collective to which all have come.
func (e *Engine) tellAll(g *group) {
	for _, a := range g.nodes {
		if g.heard[a] < g.seq {
			return
		}
	}
	e.tellOthers(g, Found)
	e.finish(g, Found)
}

func (e *Engine) tellOthers(g *group, outcome Outcome) {
	for _, a := range g.nodes {
		if a != e.here() {
			e.relay(a, relayed{kind: relayOut, id: g.seq, group: g.key, outcome: outcome})
		}
	}
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

// groupPart takes, on the first node of a group, the news of another.
func (e *Engine) groupPart(from address, m *relayed) error {
	g, err := e.groupNamed(from, m)
	if g == nil {
		return err
	}
	if g.placed && (g.nodes[0] != e.here() || !slices.Contains(g.nodes, from)) {
		return badExchange("node %d of job %d speaks for a group that it is not in", from.node, from.job)
	}
	if m.id < g.seq || g.broken {
		return nil
	}
	if m.outcome != Found {
		g.broken = true
		e.tellOthers(g, Missing)
		e.finish(g, Missing)
		return nil
	}
	g.heard[from] = m.id
	if g.waiting {
		e.tellAll(g)
	}
	return nil
}

// groupOver takes the end of a collective from the group's first node.
func (e *Engine) groupOver(from address, m *relayed) error {
	g := e.groups.by[m.group]
	switch {
	case g == nil || m.id < g.seq:
		return nil
	case !g.placed || g.nodes[0] != from:
		return badExchange("node %d of job %d ends a collective that is not its own", from.node, from.job)
	case m.outcome != Found:
		if g.waiting && m.id > g.seq {
			e.finish(g, Found) // its end was overtaken
		}
		g.broken = true
		e.finish(g, Missing)
		return nil
	case m.id > g.seq || !g.waiting:
		return badExchange("node %d of job %d ends a collective that this node has not come to", from.node, from.job)
	}
	e.finish(g, Found)
	return nil
}

// groupOpened takes the news of a group.
func (e *Engine) groupOpened(from address, m *relayed) error {
	g, err := e.groupNamed(from, m)
	if g != nil {
		e.advance(g)
	}
	return err
}

// groupNamed finds or begins the group of a message. A group that this node has
// no room for is refused, not fatal: another job may have sent it.
func (e *Engine) groupNamed(from address, m *relayed) (*group, error) {
	kind, procs, ok := readGroup(m.group)
	if !ok {
		return nil, badExchange("node %d of job %d names no group", from.node, from.job)
	}
	g, err := e.group(kind, procs)
	if err != nil {
		kind := relayOut
		if m.kind == relayOpen {
			kind = relayIn
		}
		e.relay(from, relayed{kind: kind, id: m.id, group: m.group, outcome: Missing})
		return nil, nil
	}
	return g, nil
}

// groupLacks breaks the collectives that wait for a rank which has departed.
func (e *Engine) groupLacks(rank int) {
	for _, g := range e.sortedGroups() {
		if g.placed && !g.broken && slices.Contains(g.members, rank) {
			e.advance(g)
		}
	}
}
