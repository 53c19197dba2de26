package uct

import (
	"encoding/binary"
	"score/pm/mem"
	"sync/atomic"
)

// maxUnmapped bounds the keys that an EP remembers though their memory is not mapped. Beyond it
// they are forgotten, and the peer is asked again.
const maxUnmapped = 1024

// remotes holds what an EP knows of its peer's regions.
type remotes struct {
	last     *remote // the one used last
	byKey    map[uint64]*remote
	unmapped int          // of those in byKey
	table    *mem.Mapping // generations of the peer's regions
}

// remote is a region of a peer on this node.
type remote struct {
	key     uint64
	ep      *EP
	access  Access
	base    uint64
	memory  []byte       // nil: not reachable by load and store
	address uint64       // of memory that is not, at the peer, for copies between the processes; 0: none
	size    uint64       // of the memory at the address
	mapping *mem.Mapping // of memory; nil for the process's own
	slot    *uint64      // the peer's word for the region; nil: only its process reaches the region
	gen     uint64       // the region is there as long as the word has this value
	older   *remote      // by last use, in the interface's list
	newer   *remote
}

// direct returns the peer's memory if this process may use it by load and store now, else nil. If
// that is not known yet, it asks the peer, which meanwhile serves the operation itself.
func (e *EP) direct(at Remote, n int, want Access) []byte {
	r := e.known(at.Key, want)
	if r == nil || r.memory == nil {
		return nil
	}
	memory, _ := cut(r.memory, at.Offset-r.base, uint64(n)) // if it is beyond, the peer says so
	return memory
}

// known returns the peer's region if this process may reach it without the peer now, else nil.
func (e *EP) known(key uint64, want Access) *remote {
	r := e.remotes.last
	if r == nil || r.key != key {
		if r = e.findRemote(key); r == nil {
			return nil
		}
	}
	if r.slot == nil || r.access&want == 0 {
		return nil
	}
	if r.gone() {
		e.forget(r)
		return nil
	}
	return r
}

// gone reports whether the owner has closed the region.
func (r *remote) gone() bool { return atomic.LoadUint64(r.slot) != r.gen }

// getByCopy copies memory of the peer that is not reachable by load and store. Bytes of a region
// that was closed meanwhile do not count: the peer says so.
func (e *EP) getByCopy(data []byte, from Remote) bool {
	r := e.known(from.Key, RemoteRead)
	if r == nil || r.address == 0 {
		return false
	}
	offset, n := from.Offset-r.base, uint64(len(data))
	return offset <= r.size && n <= r.size-offset && e.read(data, r.address+offset) && !r.gone()
}

func (e *EP) findRemote(key uint64) *remote {
	r := e.remotes.byKey[key]
	if r == nil {
		e.describe(key)
		return nil
	}
	e.remotes.last = r
	e.iface.mapped.use(r)
	return r
}

// describe asks the peer for the description of a key, once.
func (e *EP) describe(key uint64) {
	if e.peerProcess() == nil {
		return
	}
	if !e.sendWords(Header{ID: idDescribe}, key) {
		return // the next operation asks again
	}
	if e.remotes.byKey == nil {
		e.remotes.byKey = map[uint64]*remote{}
	}
	if e.remotes.unmapped >= maxUnmapped {
		e.forgetUnmapped()
	}
	e.remotes.unmapped++
	e.remotes.byKey[key] = &remote{key: key, ep: e}
}

func (e *EP) forgetUnmapped() {
	for _, r := range e.remotes.byKey {
		if r.mapping == nil {
			e.forget(r)
		}
	}
}

// descriptionWords are key, slot, generation, size, access, base and, if the region is no window,
// its address; the handles of region and table follow.
const (
	descriptionWords = 7
	descriptionBytes = 8*descriptionWords + 2*mem.HandleBytes
)

// onDescribe answers with zeros behind the key if the peer cannot reach the region by itself.
func onDescribe(p *Packet) {
	var w [1]uint64
	if !p.words(w[:]) || p.EP.serves >= maxAsked {
		return
	}
	a := p.EP.newReply(replyDescription, 0)
	if a == nil {
		return
	}
	buf := append(a.buf, make([]byte, descriptionBytes)...)
	putWords(buf, w[0])
	md := p.EP.iface.md
	if r := md.regions[w[0]]; r != nil && (r.gen != 0 || p.EP.iface.crowded && r.publishCopied()) {
		table := md.table.Handle().Encode()
		handles := buf[8*descriptionWords:]
		copy(handles[mem.HandleBytes:], table[:])
		at := address(r.buf)
		if r.window != nil {
			region := r.window.Handle().Encode()
			copy(handles, region[:])
			at = 0
		}
		putWords(buf[8:], uint64(r.slot), r.gen, uint64(len(r.buf)), uint64(r.access), r.base, at)
	}
	a.buf = buf
	p.EP.reply(a)
}

// onDescription learns how to reach a region that was asked for, and maps a window. Whatever is
// wrong with it, the peer's process serves the region.
func onDescription(p *Packet) {
	e := p.EP
	data, err := p.Prefix(descriptionBytes)
	if err != nil {
		e.Violated()
		return
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(data[8*i:]) }
	r := e.remotes.byKey[word(0)]
	if r == nil || r.slot != nil || word(2) == 0 || word(1) >= tableSlots {
		return
	}
	handles := data[8*descriptionWords:]
	table, err := mem.ParseHandle(handles[mem.HandleBytes:])
	if err != nil || !e.mapTable(table) {
		return
	}
	if word(6) != 0 {
		r.address, r.size = word(6), word(3)
	} else if !e.mapWindow(r, handles[:mem.HandleBytes], word(3)) {
		return
	}
	r.slot, r.gen, r.access = wordAt(e.remotes.table.Bytes(), int(word(1))*8), word(2), Access(word(4))
	r.base = word(5)
	if r.mapping != nil {
		e.remotes.unmapped--
		e.iface.counts.Mapped++
		e.iface.mapped.add(r, e.iface.md.cacheBytes)
	}
}

// mapWindow maps the window of a region.
func (e *EP) mapWindow(r *remote, handle []byte, size uint64) bool {
	h, err := mem.ParseHandle(handle)
	if err != nil {
		return false
	}
	m, err := e.process.Map(h)
	if err != nil {
		return false
	}
	if uint64(len(m.Bytes())) < size {
		_ = m.Release()
		return false
	}
	r.mapping, r.memory = m, m.Bytes()[:size]
	return true
}

func (e *EP) mapTable(h mem.Handle) bool {
	if e.remotes.table != nil {
		return true
	}
	if e.peerProcess() == nil {
		return false
	}
	t, err := e.process.Map(h)
	if err != nil {
		return false
	}
	if len(t.Bytes()) < tableSlots*8 {
		_ = t.Release()
		return false
	}
	e.remotes.table = t
	return true
}

// forget drops what is known of a region: its owner closed it, or the memory limit was reached.
func (e *EP) forget(r *remote) {
	if r.mapping != nil {
		e.iface.mapped.remove(r)
		_ = r.mapping.Release()
	} else {
		e.remotes.unmapped--
	}
	delete(e.remotes.byKey, r.key)
	if e.remotes.last == r {
		e.remotes.last = nil
	}
}

func (e *EP) releaseRemotes() {
	for _, r := range e.remotes.byKey {
		e.forget(r)
	}
	if e.remotes.table != nil {
		_ = e.remotes.table.Release()
		e.remotes.table = nil
	}
}

// mapped is the list of peers' regions that this process has mapped, by last use.
type mapped struct {
	newest, oldest *remote
	bytes          int64
}

// add enters a region, and forgets those used least recently beyond the limit.
func (m *mapped) add(r *remote, limit int64) {
	m.push(r)
	m.bytes += int64(len(r.memory))
	for m.bytes > limit && m.oldest != r {
		m.oldest.ep.forget(m.oldest)
	}
}

func (m *mapped) push(r *remote) {
	r.older, r.newer = m.newest, nil
	if m.newest != nil {
		m.newest.newer = r
	} else {
		m.oldest = r
	}
	m.newest = r
}

func (m *mapped) unlink(r *remote) {
	if r.newer != nil {
		r.newer.older = r.older
	} else {
		m.newest = r.older
	}
	if r.older != nil {
		r.older.newer = r.newer
	} else {
		m.oldest = r.newer
	}
}

func (m *mapped) remove(r *remote) {
	m.unlink(r)
	m.bytes -= int64(len(r.memory))
}

// use notes that a region is used.
func (m *mapped) use(r *remote) {
	if r.mapping != nil && m.newest != r {
		m.unlink(r)
		m.push(r)
	}
}
