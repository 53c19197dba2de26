package uct

import "time"

// Exposed names memory that its owner leaves unchanged until the peer has the bytes: the source of
// a rendezvous.
type Exposed struct {
	Key     uint64 // for Get
	Offset  uint64
	Address uint64 // in the owner's address space
}

const (
	// exposedBit marks keys of exposed memory; no other key has it set without ownKeys.
	exposedBit = 1 << 62
	// exposedTurn is the position of the key's generation: how often its number was used, modulo
	// 2^30. A long pull asks for one piece at a time, and must not get later pieces from another
	// exposure.
	exposedTurn = 32
	turnMask    = exposedBit>>exposedTurn - 1
)

// exposures are the pieces of memory that are exposed, by number.
type exposures struct {
	regions []*Region
	free    []uint32
}

func (x *exposures) get(key uint64) *Region {
	id := uint64(uint32(key))
	if id >= uint64(len(x.regions)) || x.regions[id].closed || x.regions[id].key != key {
		return nil
	}
	return x.regions[id]
}

// Expose lets peers read memory until Conceal. It is cheaper than a region, and made for each
// rendezvous. Memory in a window is announced as such, so that peers of the node map it.
func (md *MD) Expose(data []byte) Exposed {
	for _, r := range md.windows {
		if offset, ok := within(r.buf, data); ok && r.access&RemoteRead != 0 {
			return Exposed{Key: r.key, Offset: r.base + uint64(offset), Address: address(data)}
		}
	}
	x := &md.exposed
	var id uint32
	if n := len(x.free); n > 0 {
		id = x.free[n-1]
		x.free = x.free[:n-1]
	} else {
		id = uint32(len(x.regions))
		x.regions = append(x.regions, &Region{md: md})
	}
	r := x.regions[id]
	r.key, r.buf, r.access, r.closed = uint64(id)|uint64(r.incarnation&turnMask)<<exposedTurn|exposedBit, data, RemoteRead, false
	return Exposed{Key: r.key, Address: address(data)}
}

// Conceal ends the exposure. A peer whose answer still reads from the memory gets ErrKey.
func (md *MD) Conceal(e Exposed) {
	if e.Key&exposedBit == 0 {
		return // a window stays
	}
	r := md.exposed.get(e.Key)
	if r == nil {
		return
	}
	r.closed, r.buf = true, nil
	r.incarnation++
	md.exposed.free = append(md.exposed.free, uint32(e.Key))
}

// Pull copies exposed memory of the peer to data: by load if it is a window that is mapped here,
// else in pieces through the channel, or by one copy between the processes if the system allows
// that and it is seen to be faster, or the ranks share CPUs, or the peer does not answer.
func (e *EP) Pull(data []byte, from Exposed, done Completion) error {
	if err := e.beginRMA(len(data)); err != nil {
		return err
	}
	if e.local && from.Key&exposedBit == 0 {
		// What is exposed does not change, so this may overtake operations that are under way.
		if memory := e.direct(Remote{Key: from.Key, Offset: from.Offset}, len(data), RemoteRead); memory != nil {
			copy(data, memory)
			return e.immediate(done)
		}
	}
	if from.Address != 0 && e.pullsByCopy(len(data)) && e.read(data, from.Address) {
		complete(done)
		return nil
	}
	o := e.newOp(opGet, done)
	o.data, o.remote = data, Remote{Key: from.Key, Offset: from.Offset}
	if e.usesBulk(len(data)) {
		o.transfer = byBulk
	}
	if e.local && len(data) > 0 && from.Address != 0 {
		o.source = from.Address
		e.iface.pulls++
	}
	e.start(o)
	return nil
}

func (e *EP) pullsByCopy(n int) bool {
	return e.prefersCopy(n) || n >= minTimed && e.local && e.canCopy() && e.pace.copies()
}

// read copies memory of the peer's process.
func (e *EP) read(data []byte, address uint64) bool {
	start := time.Now()
	if !e.canCopy() || e.process.Read(data, address) != nil {
		return false
	}
	if len(data) >= minTimed {
		observe(&e.pace.copied, len(data), time.Since(start))
	}
	e.iface.counts.Copied += uint64(len(data))
	return true
}

// copyLate completes pulls whose bytes do not come by a copy between the processes. What their
// owner sends later is dropped; it may know by then that the bytes are here.
func (i *Iface) copyLate() (n int) {
	i.calls.Each(func(o *op) {
		if o.source == 0 || o.completed || !o.ep.read(o.data, o.source) {
			return
		}
		done := o.done
		o.done, o.completed = nil, true
		i.pulls--
		n++
		complete(done)
	})
	return n
}
