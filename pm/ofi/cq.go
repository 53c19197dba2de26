package ofi

import (
	"score/channels/release"
	"sync/atomic"
)

// Entry is a completion. It has the layout that the C library reads.
type Entry struct {
	Context uintptr
	Flags   Flags
	Length  uint64
	Buffer  uintptr
	Data    uint64
	Tag     uint64
	Source  Address
	Err     uint64 // libfabric's number of the error; 0: none
}

// set copies an entry field by field, as it was written. A copy by pairs of words waits until the
// words are in the cache, behind all that was stored before: the message just sent, say.
func (e *Entry) set(from *Entry) {
	e.Context, e.Flags, e.Length, e.Buffer = from.Context, from.Flags, from.Length, from.Buffer
	e.Data, e.Tag, e.Source, e.Err = from.Data, from.Tag, from.Source, from.Err
}

// DefaultQueue is how many entries a CQ holds before it grows, if its user does not say.
const DefaultQueue = 1024

// CQ is a completion queue. It never drops: what does not fit into its ring waits behind it.
type CQ struct {
	ring  []Entry // a power of two
	head  *uint64 // entries read, ever; the reader's
	tail  *uint64 // entries written, ever
	more  *uint32 // 1: entries wait behind the ring
	spill []Entry

	closed bool // nobody reads any more, and the ring may be freed
}

// CQ returns a queue that holds at least size entries in its ring.
func (d *Domain) CQ(size int) *CQ {
	if size <= 0 {
		size = DefaultQueue
	}
	n := 1
	for n < size {
		n *= 2
	}
	c, err := d.CQIn(make([]Entry, n), new(uint64), new(uint64), new(uint32))
	if err != nil {
		panic(err) // the ring is a power of two
	}
	return c
}

// CQIn returns a queue in the caller's memory, which the caller reads without a call: entries from
// head to tail, both of which only grow. If more is 1 when the ring is empty, a call of Progress
// refills it.
func (d *Domain) CQIn(ring []Entry, head, tail *uint64, more *uint32) (*CQ, error) {
	if len(ring) == 0 || len(ring)&(len(ring)-1) != 0 {
		return nil, ErrArgument
	}
	c := &CQ{ring: ring, head: head, tail: tail, more: more}
	d.cqs = append(d.cqs, c)
	return c, nil
}

// read reports whether the program has read all entries.
func (c *CQ) read() bool {
	return c != nil && len(c.spill) == 0 && *c.tail == atomic.LoadUint64(c.head)
}

// next returns the entry behind the last one. The caller fills each of its fields in place, then
// calls push. It is nil if nobody reads.
func (c *CQ) next() *Entry {
	if c == nil || c.closed {
		return nil
	}
	tail := *c.tail
	if len(c.spill) > 0 || tail-atomic.LoadUint64(c.head) >= uint64(len(c.ring)) {
		return c.nextBehind()
	}
	return &c.ring[tail&uint64(len(c.ring)-1)]
}

// nextBehind is next behind the ring.
func (c *CQ) nextBehind() *Entry {
	c.spill = append(c.spill, Entry{})
	return &c.spill[len(c.spill)-1]
}

// push publishes the entry that next returned.
func (c *CQ) push() {
	if len(c.spill) > 0 {
		atomic.StoreUint32(c.more, 1)
		return
	}
	release.Store64(c.tail, *c.tail+1)
}

// add appends an entry; it is not for hot paths.
func (c *CQ) add(entry Entry) {
	if e := c.next(); e != nil {
		*e = entry
		c.push()
	}
}

// addSent appends an entry without a message's tag and source. Fields are set one by one: of a
// literal the compiler makes a copy, which waits for what it was just written.
func (c *CQ) addSent(context uintptr, flags Flags, length, number uint64) {
	e := c.next()
	if e == nil {
		return
	}
	e.Context, e.Flags, e.Length, e.Buffer, e.Data, e.Tag, e.Source, e.Err = context, flags, length, 0, 0, 0, 0, number
	c.push()
}

// addNothing appends the entry of a peek that found no message.
func (c *CQ) addNothing(context uintptr, flags Flags, tag uint64) {
	e := c.next()
	if e == nil {
		return
	}
	e.Context, e.Flags, e.Length, e.Buffer, e.Data, e.Tag, e.Source, e.Err = context, flags, 0, 0, 0, tag, 0, noMessage
	c.push()
}

// refill moves entries from behind the ring into it.
func (c *CQ) refill() {
	if len(c.spill) > 0 {
		c.move()
	}
}

func (c *CQ) move() {
	tail, n := *c.tail, 0
	for n < len(c.spill) && tail-atomic.LoadUint64(c.head) < uint64(len(c.ring)) {
		c.ring[tail&uint64(len(c.ring)-1)] = c.spill[n]
		tail++
		n++
	}
	release.Store64(c.tail, tail)
	left := copy(c.spill, c.spill[n:])
	c.spill = c.spill[:left]
	if left == 0 {
		atomic.StoreUint32(c.more, 0)
	}
}

// Read takes up to len(to) entries, the oldest first.
func (c *CQ) Read(to []Entry) int {
	c.refill()
	head := *c.head
	n := min(len(to), int(atomic.LoadUint64(c.tail)-head))
	if n == 0 {
		return 0
	}
	for i := range n {
		to[i].set(&c.ring[(head+uint64(i))&uint64(len(c.ring)-1)])
	}
	release.Store64(c.head, head+uint64(n))
	return n
}

// filled reports whether there is an entry to read.
func (c *CQ) filled() bool { return c != nil && *c.tail != atomic.LoadUint64(c.head) }

// Counter counts completions, and failures apart.
type Counter struct{ value, failed *uint64 }

// Counter returns a counter of its own memory.
func (d *Domain) Counter() *Counter { return d.CounterIn(new(uint64), new(uint64)) }

// CounterIn returns a counter in the caller's memory, which the caller reads without a call until
// Close.
func (d *Domain) CounterIn(value, failed *uint64) *Counter { return &Counter{value, failed} }

// Close gives the counter's memory back to the caller. Operations still under way count no more.
func (c *Counter) Close() { c.value, c.failed = new(uint64), new(uint64) }

// Value returns the completions without error, and those with one.
func (c *Counter) Value() (done, failed uint64) {
	return atomic.LoadUint64(c.value), atomic.LoadUint64(c.failed)
}

func (c *Counter) count(err error) {
	switch {
	case c == nil:
	case err == nil:
		atomic.AddUint64(c.value, 1)
	default:
		atomic.AddUint64(c.failed, 1)
	}
}
