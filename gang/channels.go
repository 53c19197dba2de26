package gang

import "fmt"

// checkChannels refuses a request that would fit if it asked for no channels.
func (m *Machine) checkChannels(r *Request, nodes []*node) error {
	if r.Channels == 0 {
		return nil
	}
	without := *r
	without.Channels = 0
	if m.checkSize(&without) != nil {
		return nil // something else is short as well and is reported first
	}
	largest, sum := 0, 0
	for _, n := range nodes {
		largest = max(largest, n.Channels)
		sum += n.Channels
	}
	need := r.Tasks * r.Channels
	has := fmt.Sprintf("the cluster's nodes have %d", sum)
	switch {
	case r.Nodes == 1 || len(nodes) == 1:
		has = fmt.Sprintf("a node has at most %d at a time", largest)
	case need <= sum:
		has = fmt.Sprintf("the nodes that it may use have too few, at most %d on one", largest)
	}
	return fmt.Errorf("%w: %s with %s each need %d, and %s; %s", ErrTooManyChannels,
		plural(r.Tasks, "task"), plural(r.Channels, "channel"), need, has, channelsAdvice)
}

// channelsAdvice tells users who ask for too many channels what to do.
const channelsAdvice = "use more nodes, ask for fewer with --channels (0 for programs without PM), or raise agent.channels of the nodes"

// checkJoinChannels refuses a joiner if the gang's row has too few channels for it.
func (m *Machine) checkJoinChannels(j *job, ga *gang) error {
	if j.req.Channels == 0 {
		return nil
	}
	without := *m.prepare(j)
	without.channels = 0
	if _, ok := m.finder.findJoin(m.grid, &without, ga); !ok {
		return nil
	}
	free := 0
	for i := range ga.nodeShares {
		free += int(m.grid.rows[ga.row].channels[ga.nodeShares[i].node.pos])
	}
	return fmt.Errorf("%w: %s with %s each need %d; on the nodes of the gang that the job joins %d are free beside it",
		ErrTooManyChannels, plural(j.req.Tasks, "task"), plural(j.req.Channels, "channel"), j.req.Tasks*j.req.Channels, free)
}

// UsedChannels returns for each node the highest number of channels taken in any row, counting both
// the gangs at home in the row and the gangs that run in it.
func (m *Machine) UsedChannels() map[NodeID]int {
	used := make(map[NodeID]int, len(m.nodes))
	count := func(free []int32) {
		for pos, n := range m.nodes {
			used[n.ID] = max(used[n.ID], n.Channels-int(free[pos]))
		}
	}
	for r := range m.grid.rows {
		count(m.grid.rows[r].channels)
	}
	m.Rows()
	t := m.newOccupancy()
	for _, residents := range m.residents {
		t.clear(m.grid)
		m.reserve(t)
		for _, ga := range residents {
			m.take(t, ga)
		}
		count(t.channels)
	}
	return used
}
