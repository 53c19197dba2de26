package gang

// rest marks the sleeping gangs that need no turn.
//
// A sleeping gang may run in every row, so it takes its channels in every row. If other gangs need
// these channels, it keeps its turn instead.
func (m *Machine) rest() {
	m.sleepers = nil
	var taken []int32 // per node: channels of the gangs marked so far
	for _, ga := range m.gangs {
		ga.rests = false
		if !ga.asleep() {
			continue
		}
		if taken == nil {
			taken = make([]int32, len(m.grid.channels))
		}
		if !m.mayRest(ga, taken) {
			continue
		}
		ga.rests = true
		m.sleepers = append(m.sleepers, ga)
		for i := range ga.nodeShares {
			taken[ga.nodeShares[i].node.pos] += ga.nodeShares[i].channels
		}
	}
}

// mayRest reports whether each row in which a gang has a turn has enough channels for this gang
// beside the gangs that rest already.
func (m *Machine) mayRest(ga *gang, taken []int32) bool {
	for i := range ga.nodeShares {
		s := &ga.nodeShares[i]
		if s.channels == 0 {
			continue
		}
		if taken[s.node.pos]+s.channels > m.grid.channels[s.node.pos] {
			return false
		}
		for r := range m.grid.rows {
			if left, on := m.left(r, s.node.pos, ga); on && left < taken[s.node.pos]+s.channels {
				return false
			}
		}
	}
	return true
}

// left returns the number of a node's channels that the gangs with a turn in a row leave free if
// one gang is not counted; on is false if no other gang has a turn in the row.
func (m *Machine) left(r int, pos int32, without *gang) (left int32, on bool) {
	left = m.grid.rows[r].channels[pos]
	for _, ga := range m.gangs {
		switch {
		case ga.row != r:
		case ga == without || ga.rests || !ga.runnable():
			left += ga.channelsOn(pos)
		default:
			on = true
		}
	}
	return left, on
}

func (ga *gang) channelsOn(pos int32) int32 {
	for i := range ga.nodeShares {
		if ga.nodeShares[i].node.pos == pos {
			return ga.nodeShares[i].channels
		}
	}
	return 0
}

// hasTurn reports whether the gang may run and does not rest.
func (ga *gang) hasTurn() bool { return ga.runnable() && !ga.rests }

// reserve takes the channels of the resting gangs, in any row.
func (m *Machine) reserve(t *occupancy) {
	for _, ga := range m.sleepers {
		for i := range ga.nodeShares {
			t.channels[ga.nodeShares[i].node.pos] -= ga.nodeShares[i].channels
		}
	}
}
