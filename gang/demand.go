package gang

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// demandOf translates a request into a demand of ranks that do not share CPUs.
func (m *Machine) demandOf(r *Request) demand {
	q := demand{shape: shape{
		tasks: r.Tasks, nodes: r.Nodes, cpus: r.CPUsPerTask,
		mem: r.MemPerNode, channels: r.Channels, weight: m.weightOf(r),
		exclusive: r.Exclusive,
	}}
	for _, id := range r.NodeList {
		if n := m.byNode[id]; n != nil {
			q.must = append(q.must, n.pos)
		}
	}
	slices.Sort(q.must)
	for _, id := range r.Exclude {
		if n := m.byNode[id]; n != nil {
			q.exclude(n.pos, len(m.nodes))
		}
	}
	q.names = namesOf(q.must, q.not)
	m.finder.examined += costOfName * (len(r.NodeList) + len(r.Exclude))
	return q
}

// costOfName is what a look-up of a node by its name costs, in nodes that a search examines.
const costOfName = 8

func (q *demand) exclude(pos int32, nodes int) {
	if q.not == nil {
		q.not = make([]uint64, wordsFor(nodes))
	}
	setBit(q.not, int(pos))
}

// namesOf encodes the nodes that a demand must and must not get; "": any will do.
func namesOf(must []int32, not []uint64) string {
	if len(must) == 0 && not == nil {
		return ""
	}
	names := binary.NativeEndian.AppendUint32(nil, uint32(len(must)))
	for _, pos := range must {
		names = binary.NativeEndian.AppendUint32(names, uint32(pos))
	}
	for _, word := range not {
		names = binary.NativeEndian.AppendUint64(names, word)
	}
	return string(names)
}

// prepare returns the job's demand and recomputes it after a change of nodes or settings. A job
// shares CPUs only if the empty cluster has too few for it: otherwise it would run at half speed
// while another node is idle.
func (m *Machine) prepare(j *job) *demand {
	if j.layout == m.layout {
		return &j.demand
	}
	j.layout = m.layout
	j.tried = false
	j.demand = m.demandOf(&j.req)
	j.named = len(j.demand.must) == len(j.req.NodeList)
	if !j.req.Oversubscribe || !j.named {
		return &j.demand
	}
	if _, ok := m.finder.find(m.empty, &j.demand, anyGrowth); !ok {
		j.demand.shared = true
	}
	return &j.demand
}

// possible reports whether the job fits on the present nodes, except drained ones, if nothing else
// runs.
func (m *Machine) possible(j *job) bool {
	q := m.prepare(j)
	if !j.tried {
		j.tried = true
		_, fits := m.finder.find(m.empty, q, anyGrowth)
		j.able = j.named && fits
	}
	return j.able
}

// knownImpossible reports whether it is known that the job is not possible.
func (m *Machine) knownImpossible(j *job) bool {
	return j.layout == m.layout && j.tried && !j.able
}

// fitFor finds a fit for a job in g.
func (m *Machine) fitFor(g *grid, j *job, growth int) (fit, bool) {
	q := m.prepare(j)
	if !j.named {
		return fit{}, false
	}
	return m.finder.find(g, q, growth)
}

// joinFit finds a fit for a joiner: on free CPUs of the gang's row or, if these are too few or
// exceed the owner's limit, on the gang's own CPUs.
func (m *Machine) joinFit(j *job, ga *gang) (fit, bool) {
	q := m.prepare(j)
	if !j.named {
		return fit{}, false
	}
	s, ok := m.finder.findJoin(m.grid, q, ga)
	if ok && m.tooManyCPUs(j, ga, s) {
		return m.finder.findWithin(m.grid, q, ga)
	}
	return s, ok
}

// tooManyCPUs reports whether a joiner with this fit would exceed its owner's limit of CPUs.
func (m *Machine) tooManyCPUs(j *job, ga *gang, s fit) bool {
	maxCPUs := m.owners[j.req.Owner].MaxCPUs
	if maxCPUs == 0 {
		return false
	}
	added := 0
	for i := range s.nodeShares {
		have := ga.cpusOn(s.nodeShares[i].node.pos)
		for k, word := range s.nodeShares[i].cpus {
			added += bits.OnesCount64(word &^ have[k])
		}
	}
	return added > 0 && m.OwnerUse(j.req.Owner).CPUs+added > maxCPUs
}

// memo remembers what did not fit earlier in this pass. A pass only takes resources, so it does not
// fit later in the pass either.
type memo struct {
	now, common map[placement]struct{} // by the grid that was searched
}

// placement is all that decides where a request fits: its shape, and the nodes that it names
// or excludes.
type placement struct {
	shape
	nodes string // as demand.names
}

func newMemo() memo {
	return memo{now: make(map[placement]struct{}), common: make(map[placement]struct{})}
}

func (o *memo) clear() {
	clear(o.now)
	clear(o.common)
}

// remembered is fitFor behind one of the memo's maps: it does not search again for what failed
// before.
func (m *Machine) remembered(failed map[placement]struct{}, g *grid, j *job, growth int) (fit, bool) {
	q := m.prepare(j)
	if !j.named {
		return fit{}, false // whatever is free, and so not remembered
	}
	wanted := placement{q.shape, q.names}
	if _, known := failed[wanted]; known {
		return fit{}, false
	}
	s, ok := m.fitFor(g, j, growth)
	if !ok {
		failed[wanted] = struct{}{}
	}
	return s, ok
}
