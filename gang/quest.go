package gang

import (
	"math/bits"
	"slices"
)

// questOf translates a request. shared says that its ranks share CPUs.
func (m *Machine) questOf(r *Request, shared bool) demand {
	q := demand{shape: shape{
		tasks: r.Tasks, nodes: r.Nodes, cpus: r.CPUsPerTask,
		mem: r.MemPerNode, channels: r.Channels, weight: m.weightOf(r),
		exclusive: r.Exclusive, shared: shared,
	}}
	for _, id := range r.NodeList {
		if n := m.byNode[id]; n != nil {
			q.must = append(q.must, n.pos)
		}
	}
	slices.Sort(q.must)
	return q
}

// prepare derives the job's demand anew after a change of nodes or settings. A job may
// share CPUs only where it could not get its own on the nodes there are: it then waits for
// its turn like others rather than running at half speed beside an idle node.
func (m *Machine) prepare(j *job) *demand {
	if j.layout == m.layout {
		return &j.quest
	}
	j.layout = m.layout
	j.tried = false
	j.quest = m.questOf(&j.req, false)
	j.named = len(j.quest.must) == len(j.req.NodeList)
	if !j.req.Oversubscribe || !j.named {
		return &j.quest
	}
	if _, ok := m.finder.find(m.empty, &j.quest, anyGrowth); !ok {
		j.quest.shared = true
	}
	return &j.quest
}

// possible reports whether the job fits on the nodes as they are, drained ones aside,
// once everything else is gone.
func (m *Machine) possible(j *job) bool {
	q := m.prepare(j)
	if !j.tried {
		j.tried = true
		_, fits := m.finder.find(m.empty, q, anyGrowth)
		j.able = j.named && fits
	}
	return j.able
}

// fitFor finds where a job would go in g.
func (m *Machine) fitFor(g *grid, j *job, growth int) (fit, bool) {
	q := m.prepare(j)
	if !j.named {
		return fit{}, false
	}
	return m.finder.find(g, q, growth)
}

func (m *Machine) nodeShareJoin(j *job, ga *gang) (fit, bool) {
	q := m.prepare(j)
	if !j.named {
		return fit{}, false
	}
	s, ok := m.finder.findJoin(m.grid, q, ga, false)
	if ok && m.tooManyCPUs(j, ga, s) {
		return m.finder.findJoin(m.grid, q, ga, true)
	}
	return s, ok
}

// tooManyCPUs reports whether a joiner's owner would have more CPUs by this fit
// than the owner may have.
func (m *Machine) tooManyCPUs(j *job, ga *gang, s fit) bool {
	most := m.owners[j.req.Owner].MaxCPUs
	if most == 0 {
		return false
	}
	added := 0
	for i := range s.nodeShares {
		have := ga.cpusOn(s.nodeShares[i].node.pos)
		for k, word := range s.nodeShares[i].cpus {
			added += bits.OnesCount64(word &^ have[k])
		}
	}
	return added > 0 && m.OwnerUse(j.req.Owner).CPUs+added > most
}

// memo remembers, within one pass, shapes that did not fit. In a pass things are only
// taken, so what did not fit once will not fit later in it.
type memo struct {
	now, common map[shape]struct{} // by grid asked
}

func newMemo() memo {
	return memo{now: make(map[shape]struct{}), common: make(map[shape]struct{})}
}

func (o *memo) clear() {
	clear(o.now)
	clear(o.common)
}

// remembered wraps fitFor with one of the memo's maps.
func (m *Machine) remembered(failed map[shape]struct{}, g *grid, j *job, growth int) (fit, bool) {
	q := m.prepare(j)
	if len(q.must) > 0 {
		return m.fitFor(g, j, growth) // shapes say nothing of particular nodes
	}
	if _, known := failed[q.shape]; known {
		return fit{}, false
	}
	s, ok := m.fitFor(g, j, growth)
	if !ok {
		failed[q.shape] = struct{}{}
	}
	return s, ok
}
