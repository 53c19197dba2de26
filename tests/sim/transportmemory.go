package sim

// memory is memory of a process that others read or write. It holds values: each operation that
// writes has a value of its own.
type memory struct {
	length uint64
	runs   []memoryRun // in order, to the end
	key    uint64
	closed bool
	turn   uint32 // how often the number was used before
}

// memoryRun is bytes of one value, which end before to.
type memoryRun struct {
	to    uint64
	value int64
}

// nothing is the value of bytes that were not read yet.
const nothing = -1

// newMemory makes memory of one value.
func newMemory(length uint64, value int64) memory {
	return memory{length: length, runs: []memoryRun{{length, value}}}
}

// read returns the runs of n bytes from at on; their ends are places in m.
func (m *memory) read(at, n uint64) (bytes []memoryRun) {
	from := uint64(0)
	for _, r := range m.runs {
		if r.to > at && from < at+n {
			bytes = append(bytes, memoryRun{min(r.to, at+n), r.value})
		}
		from = r.to
	}
	return bytes
}

// put writes what was read, from at on.
func (m *memory) put(at uint64, bytes []memoryRun) {
	for _, r := range bytes {
		m.write(at, r.to-at, r.value)
		at = r.to
	}
}

// write writes n bytes of a value from at on.
func (m *memory) write(at, n uint64, value int64) {
	old := m.runs
	m.runs = make([]memoryRun, 0, len(old)+2)
	from := uint64(0)
	for _, r := range old {
		m.add(from, min(r.to, at), r.value)
		if from <= at && at < r.to {
			m.add(at, at+n, value)
		}
		m.add(max(from, at+n), r.to, r.value)
		from = r.to
	}
}

func (m *memory) add(from, to uint64, value int64) {
	if from >= to {
		return
	}
	if last := len(m.runs) - 1; last >= 0 && m.runs[last].value == value {
		m.runs[last].to = to
		return
	}
	m.runs = append(m.runs, memoryRun{to, value})
}

const (
	slotKey    = 1 // a slot's; each rank has one at each other
	wrongKey   = 2 // none has it
	exposedBit = 1 << 62
	// exposedTurnAt is where a key has how often its number was used, as in pm/uct.
	exposedTurnAt = 32
)

// expose makes memory of a value readable, and returns its key.
func (t *transport) expose(length uint64, value int64) uint64 {
	var id uint32
	if n := len(t.unused); n > 0 {
		id, t.unused = t.unused[n-1], t.unused[:n-1]
	} else {
		id = uint32(len(t.exposed))
		t.exposed = append(t.exposed, &memory{closed: true})
	}
	m := t.exposed[id]
	m.length, m.closed, m.runs = length, false, append(m.runs[:0], memoryRun{length, value})
	m.key = uint64(id) | exposedBit
	if !t.bugs.noTurns {
		m.key |= uint64(m.turn) << exposedTurnAt
	}
	return m.key
}

func (t *transport) conceal(key uint64) {
	if m := t.exposedAt(key); m != nil {
		m.closed = true
		m.turn++
		t.unused = append(t.unused, uint32(key))
	}
}

func (t *transport) exposedAt(key uint64) *memory {
	id := uint64(uint32(key))
	if key&exposedBit == 0 || id >= uint64(len(t.exposed)) || t.exposed[id].closed || t.exposed[id].key != key {
		return nil
	}
	return t.exposed[id]
}

// find looks memory up for a peer's operation.
func (t *transport) find(p *transportPeer, key, length uint64) *memory {
	switch {
	case key == slotKey:
		return &p.slot
	case key&exposedBit == 0:
		return nil
	}
	if m := t.exposedAt(key); m != nil && m.length == length {
		return m
	}
	return nil
}

// slotBytes is the length of a slot: of the longest operation.
const slotBytes = 4 << 20

// revoke now and then takes away memory that peers read: the source of a send. The program sends
// something else instead.
func (t *transport) revoke() {
	if !t.dice.chance(t.plan.revokes) || t.e.w.calmed {
		return
	}
	for _, p := range t.peers {
		if p == nil || p.lost {
			continue
		}
		for _, o := range p.sends {
			if o != nil && !o.ended {
				o.taken = true
				t.end(o, true)
				t.e.w.values++
				t.todo = append(t.todo, &operation{kind: opSend, peer: p, length: o.length, value: t.e.w.values})
				return
			}
		}
	}
}
