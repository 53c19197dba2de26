package channels

import (
	"fmt"
	"score/channels/abi"
	"score/channels/release"
	"sync/atomic"
)

// Delivery puts messages from other nodes into the inbox, through lane 0. Its state is in the
// image, so whoever has the driver lock can go on where the last driver stopped; a Delivery is so
// cheap to make that none is kept beyond a section. All it reads from the image may be nonsense;
// then the error is ErrDamaged.
type Delivery struct {
	img  *Image
	lane laneWriter
	tail *uint64
}

// Delivery begins a section. The caller has the driver lock.
func (img *Image) Delivery() (Delivery, error) {
	l := &img.layout
	control := l.Lane(0)
	d := Delivery{img: img, tail: img.laneTail()}
	ring := img.mem.ring(l.NetRing, l.NetBytes)
	tail := atomic.LoadUint64(d.tail)
	if word := atomic.LoadUint64(ring.commit(tail)); word != 0 {
		tail += linesOf(ring, tail, word) // the last driver died before it noted this record
		atomic.StoreUint64(d.tail, tail)
	}
	d.lane = newLaneWriter(ring, img.mem.u64(control), tail, 0)
	// Without memory for the longest message the peers are promised no room.
	return d, d.allocate(abi.Lines(int(l.MaxMessage)))
}

// linesKeptZero lie behind the last record: laneWriter writes zero into their commit words.
const linesKeptZero = 2

// allocate makes the system find memory for a record of n lines at the tail. What lies behind the
// end of the lane is at its start, where the first record was.
func (d *Delivery) allocate(n uint64) error {
	l := &d.img.layout
	at := (d.lane.tail & d.lane.mask) * abi.LineBytes
	n = min(n+linesKeptZero, d.lane.left(d.lane.tail))
	return d.img.ensureAhead(l.NetRing+at, n*abi.LineBytes, l.NetRing+uint64(l.NetBytes))
}

// linesOf is the size of a record, at most up to the end of the memory.
func linesOf(r ring, pos, word uint64) uint64 {
	length, kind, _ := abi.Uncommit(word)
	if kind == abi.KindPad {
		return r.left(pos)
	}
	return min(abi.Lines(length), r.left(pos))
}

// commit makes the record at the tail visible, and wakes the owner.
func (d *Delivery) commit(rank uint32, length int, kind uint8, progress uint32) {
	d.lane.commitRecord(abi.Commit(length, kind, rank), abi.Lines(length), progress)
	release.Store64(d.tail, d.lane.tail)
	if d.img.Sleeping() { // commitRecord has published; see fence.go
		d.img.Wake()
	}
}

// The network lane and the send buffer are used again from their start, if that is free, after
// these shares of them, 128 KiB as a rule: what was written and read lately lies in the nearest
// caches, which makes messages of 8 to 32 KiB a tenth to a fifth faster.
const (
	nearShareOfLane       = 8
	nearShareOfSendBuffer = 16
)

// laneTail is how many lines were ever written into the network lane, as the last driver noted it.
func (img *Image) laneTail() *uint64 { return img.mem.u64(img.layout.Lane(0) + abi.LaneTailAt) }

// Far reports whether Rewind is worth a call.
func (img *Image) Far() bool {
	lines := uint64(img.layout.NetBytes) / abi.LineBytes
	return atomic.LoadUint64(img.laneTail())&(lines-1) >= lines/nearShareOfLane
}

// Rewind goes back to the start of the lane if the reader has all that was written. Most of the
// lane is free again only when the reader has looked, so it is for the reader itself, while it
// waits.
func (d *Delivery) Rewind() {
	if d.lane.rewind() {
		release.Store64(d.tail, d.lane.tail)
	}
}

// fits looks for space for a message of the length.
func (d *Delivery) fits(rank uint32, length int) error {
	if rank >= d.img.layout.Ranks {
		return fmt.Errorf("%w: %d", ErrRank, rank)
	}
	if length < 0 || length > int(d.img.layout.MaxMessage) {
		return ErrTooLarge
	}
	before := d.lane.tail
	n := abi.Lines(length)
	fits := d.lane.fits(n)
	if d.lane.tail != before { // a pad has moved it
		release.Store64(d.tail, d.lane.tail)
	}
	if !fits || d.allocate(n) != nil {
		return ErrFull
	}
	return nil
}

// Fits reports whether a message of the length, or the first frame of it, would be taken now.
func (d *Delivery) Fits(length int) bool { return d.fits(0, length) == nil }

// Lines is the size of the lane in lines.
func (d *Delivery) Lines() uint64 { return d.lane.lines() }

// Free returns how many lines are free.
func (d *Delivery) Free() uint64 {
	d.lane.updateRead()
	return d.lane.lines() - min(d.lane.used(), d.lane.lines())
}

// Tail returns how many lines were ever written.
func (d *Delivery) Tail() uint64 { return d.lane.tail }

// Got says how far the rank's incomplete message has come: 0 if it has none.
func (d *Delivery) Got(rank uint32) uint32 {
	at, err := d.entry(rank)
	if err != nil {
		return 0
	}
	return atomic.LoadUint32(d.img.mem.u32(at + abi.ArrivalGotAt))
}

// Whole delivers a message that came in one frame. The error is ErrFull, ErrRank or
// ErrTooLarge, and then nothing was delivered.
func (d *Delivery) Whole(rank uint32, data []byte) error {
	if err := d.fits(rank, len(data)); err != nil {
		return err
	}
	copy(d.lane.payload(len(data)), data)
	d.commit(rank, len(data), abi.KindData, 0)
	return nil
}

// Begin delivers the first frame of a longer message; space for all of it is
// taken now, and the reader sees what is there. Errors are those of Whole, and ErrHeld
// if another message of the rank is not complete.
func (d *Delivery) Begin(rank uint32, length int, data []byte) error {
	if len(data) > length {
		return ErrTooLarge
	}
	if err := d.fits(rank, length); err != nil {
		return err
	}
	entry, err := d.entry(rank)
	if err != nil {
		return err
	}
	got := d.img.mem.u32(entry + abi.ArrivalGotAt)
	if atomic.LoadUint32(got) != 0 {
		return ErrHeld
	}
	if len(data) == length {
		return d.Whole(rank, data)
	}
	pos := d.lane.tail
	copy(d.lane.payload(length), data)
	atomic.StoreUint32(d.img.mem.u32(entry), uint32(pos))
	atomic.StoreUint32(got, uint32(len(data))+1)
	d.commit(rank, length, abi.KindGrowing, uint32(len(data)))
	return nil
}

func (d *Delivery) entry(rank uint32) (uint64, error) {
	if rank >= d.img.layout.Ranks {
		return 0, fmt.Errorf("%w: %d", ErrRank, rank)
	}
	at := d.img.layout.Arrival(rank)
	return at, d.img.ensure(at, abi.ArrivalBytes)
}

// arriving is the rank's incomplete message.
type arriving struct {
	entry  uint64
	pos    uint64
	length int
	got    int
}

// find looks up the rank's incomplete message; ErrNotReserved if it has none.
func (d *Delivery) find(rank uint32) (a arriving, err error) {
	if a.entry, err = d.entry(rank); err != nil {
		return a, err
	}
	got := atomic.LoadUint32(d.img.mem.u32(a.entry + abi.ArrivalGotAt))
	if got == 0 {
		return a, ErrNotReserved
	}
	a.got = int(got - 1)
	// The entry has the lower half of the position, which lies behind the tail.
	back := uint32(d.lane.tail) - atomic.LoadUint32(d.img.mem.u32(a.entry))
	a.pos = d.lane.tail - uint64(back)
	length, kind, sender := abi.Uncommit(atomic.LoadUint64(d.lane.commit(a.pos)))
	a.length = length
	if uint64(back) > d.lane.lines() || kind != abi.KindGrowing || sender != rank || a.got > length ||
		d.lane.bytes(a.pos, length) == nil {
		return a, fmt.Errorf("%w: the incomplete message of rank %d", ErrDamaged, rank)
	}
	return a, nil
}

// More delivers the next frame of the message that Begin began, and reports whether
// it is complete now.
func (d *Delivery) More(rank uint32, data []byte) (complete bool, err error) {
	a, err := d.find(rank)
	if err != nil {
		return false, err
	}
	if a.got+len(data) > a.length {
		return false, ErrTooLarge
	}
	copy(d.lane.bytes(a.pos, a.length)[a.got:], data)
	a.got += len(data)
	complete = a.got == a.length
	left := uint32(a.got + 1)
	if complete {
		left = 0
	}
	// In this order: a driver that dies in between has the same bytes delivered again.
	d.lane.setProgress(a.pos, uint32(a.got))
	atomic.StoreUint32(d.img.mem.u32(a.entry+abi.ArrivalGotAt), left)
	d.img.Wake()
	return complete, nil
}

// Lose reports that the rest of the rank's incomplete message will not come, because the rank
// or its node died. It is no error if the rank has none.
func (d *Delivery) Lose(rank uint32) error {
	a, err := d.find(rank)
	if a.entry != 0 {
		atomic.StoreUint32(d.img.mem.u32(a.entry+abi.ArrivalGotAt), 0)
	}
	if err == nil {
		d.lane.setProgress(a.pos, abi.ProgressLost)
		d.img.Wake()
	}
	if err == ErrNotReserved { //nolint:errorlint // find returns this very value
		return nil
	}
	return err
}
