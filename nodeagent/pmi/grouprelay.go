package pmi

import "slices"

// onGroupPlaced continues with a group whose nodes are known: the first node announces it to the
// others, which may already know that it is impossible.
func (e *Engine) onGroupPlaced(g *group) {
	if g.nodes[0] != e.here() {
		return
	}
	for _, a := range g.nodes[1:] {
		e.relay(a, relayed{kind: relayOpen, id: g.seq, group: g.key, outcome: Found})
	}
}

// finishIfComplete ends a collective, on the first node, after all nodes have reported.
func (e *Engine) finishIfComplete(g *group) {
	for _, a := range g.nodes {
		if g.reported[a] < g.seq {
			return
		}
	}
	if g.kind == GroupConstruct {
		g.number = e.constructNumber()
	}
	e.notifyOthers(g, Found)
	e.finish(g, Found)
}

func (e *Engine) notifyOthers(g *group, outcome Outcome) {
	for _, a := range g.nodes {
		if a != e.here() {
			e.relay(a, relayed{kind: relayOut, id: g.seq, group: g.key, outcome: outcome, number: g.number})
		}
	}
}

// onGroupPart handles another node's report, on the first node of a group.
func (e *Engine) onGroupPart(from address, m *relayed) error {
	g, err := e.groupOf(from, m)
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
		e.notifyOthers(g, Missing)
		e.finish(g, Missing)
		return nil
	}
	g.reported[from] = m.id
	if g.waiting {
		e.finishIfComplete(g)
	}
	return nil
}

// onGroupOver handles the end of a collective, which the group's first node has sent.
func (e *Engine) onGroupOver(from address, m *relayed) error {
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
	g.number = m.number
	e.finish(g, Found)
	return nil
}

// onGroupOpened handles the announcement of a group.
func (e *Engine) onGroupOpened(from address, m *relayed) error {
	g, err := e.groupOf(from, m)
	if g != nil {
		e.advance(g)
	}
	return err
}

// groupOf returns the group of a message, which it makes if necessary. If this node has no room for
// it, it refuses the group; that does not end the job, since another job may have sent the message.
func (e *Engine) groupOf(from address, m *relayed) (*group, error) {
	kind, name, procs, ok := readGroup(m.group)
	if !ok {
		return nil, badExchange("node %d of job %d names no group", from.node, from.job)
	}
	g, err := e.group(kind, name, procs)
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
