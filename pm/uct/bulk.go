package uct

import (
	"errors"
	"score/pm"
	"score/pm/uct/pull"
	"time"
)

const (
	// minBulk is the shortest transfer between nodes, in bytes, that goes as bulk datagrams: for
	// less, asking for the bytes and confirming the end cost more than the copies that they save.
	minBulk = 64 << 10
	// bulkPerTurn bounds the frames that are sent, or taken, before Progress turns to other work:
	// some 60 us of the longest ones. A MiB is 18 of them, two turns.
	bulkPerTurn = 9
	// bulkAhead bounds the bytes that are prepared for a turn.
	bulkAhead = bulkPerTurn << 16
	// bulkStep bounds a sleep while frames may be late, or the channel had no room for a question.
	bulkStep = 200 * time.Microsecond
)

// bitFirst marks the first request of a get: the owner's program is notified once.
const bitFirst uint8 = 1

// bulk is an interface's part of pulls by bulk datagrams.
type bulk struct {
	link    *pm.Bulk // nil: not opened, or none
	tried   bool     // opening it was tried
	reader  *pull.Reader
	pulls   int // operations whose pull is not settled
	token   uint32
	refused bool // there was no room for the last question

	copied copied // what owners are asked for
	empty  bool   // the last look found nothing
	taken  int    // frames since owners were asked
	vain   int    // looks behind a frame that found nothing, since then
}

// copied is how many of four frames their owner copies into the socket. The others stay in its memory
// until they are taken. Copies by the owner help if the reader is the slower end.
type copied uint8

const (
	// mostCopied is with which both ends take about as long, where a frame that the owner did not copy
	// takes its reader twice as long.
	mostCopied copied = 2
	// behind is how many of the longest frames wait after a turn that began with an empty socket if
	// the reader is the slower end: those that came meanwhile, beyond the turn's.
	behind = 4
)

// of reports whether the frame at the place is among them.
func (c copied) of(at uint64) bool { return c > [4]copied{0, 2, 1, 3}[at>>16&3] }

// turn takes note of a turn of n frames, after which so many bytes wait.
func (b *bulk) turn(n, waiting int) {
	if b.taken += n; waiting >= behind<<16 && b.copied < mostCopied {
		b.copied++
		b.vain, b.taken = 0, 0
	}
}

// weigh returns what owners are asked for: to copy less if the reader waits for frames.
func (b *bulk) weigh() copied {
	if b.taken < bulkPerTurn {
		return b.copied
	}
	if b.vain > b.taken && b.copied > 0 {
		b.copied--
	}
	b.vain, b.taken = 0, 0
	return b.copied
}

// bulkLink is the way for bulk datagrams, or nil.
func (i *Iface) bulkLink() *pm.Bulk {
	b := &i.bulk
	if b.tried {
		return b.link
	}
	b.tried = true
	b.link = i.ch.OpenBulk()
	c := pull.DefaultConfig()
	if b.link != nil {
		c = pull.ConfigFor(b.link.Room())
	}
	b.reader = pull.New(c)
	return b.link
}

// usesBulk reports whether a transfer of n bytes from or to the peer goes as bulk datagrams.
func (e *EP) usesBulk(n int) bool {
	if e.local || e.other != nil || n < minBulk || e.iface.ch.Flow() != pm.FlowNack {
		return false
	}
	b := e.iface.bulkLink()
	return b != nil && b.MaxFrame(e.rank) > 0
}

// startPull begins to pull the bytes of an operation that is in calls.
func (i *Iface) startPull(o *op) {
	i.bulkLink() // the reader is there from now on
	b := &i.bulk
	b.token++
	b.pulls++
	o.token, o.pull = b.token, b.reader.Start(o.id, uint64(len(o.data)))
	i.expect()
	if !i.inside {
		i.askBulk()
	}
}

func (i *Iface) expect() {
	if i.bulk.link != nil {
		i.bulk.link.Expect(i.bulk.pulls > 0)
	}
}

// releasePull forgets the pull of an operation that ends.
func (i *Iface) releasePull(o *op) {
	if o.pull == nil {
		return
	}
	i.bulk.reader.Recycle(o.pull)
	o.pull = nil
	i.bulk.pulls--
	i.expect()
}

// bulkEpoch is the instant from which pulls count nanoseconds.
var bulkEpoch = time.Now()

func bulkNow() int64 { return time.Since(bulkEpoch).Nanoseconds() }

// bulkSleep bounds a sleep while operations are under way.
func (i *Iface) bulkSleep() time.Duration {
	b := &i.bulk
	switch {
	case b.pulls == 0:
		return owedSleep
	case b.refused:
		return bulkStep
	}
	return min(max(time.Duration(b.reader.Deadline()-bulkNow()), bulkStep), owedSleep)
}

// askBulk declares frames lost that did not come, and asks for what pulls want now.
func (i *Iface) askBulk() (n int) {
	b := &i.bulk
	b.refused = false
	now := bulkNow()
	if now >= b.reader.Deadline() && !i.framesWait() {
		b.reader.Tick(now)
	}
	for {
		p, at, size, ok := b.reader.Next()
		if !ok {
			return n
		}
		o := i.calls.Get(p.ID)
		if o.ep.failed != nil {
			b.reader.Stop(p)
			continue
		}
		if !o.ep.ask(o, at, size) {
			b.refused = true
			return n
		}
		b.reader.Asked(now)
		n++
	}
}

// framesWait reports whether frames wait to be taken.
func (i *Iface) framesWait() bool {
	if i.bulk.link == nil {
		return false
	}
	_, _, ok := i.bulk.link.Next()
	return ok
}

// ask asks for a piece of a pull.
func (e *EP) ask(o *op, at, n uint64) bool {
	port, bits, to := uint16(0), uint8(0), uint8(0)
	if b := e.iface.bulk.link; b != nil {
		port = b.Port()
	}
	if o.kind == opGet {
		to = o.remote.Port
		if o.asked == 0 {
			bits = bitFirst
		}
	}
	buf, err := e.reserve(Header{ID: idAsk, To: to, Bits: bits, Arg: o.id}, askBytes)
	if err != nil {
		return false
	}
	putWords(buf, o.remote.Key, o.remote.Offset, uint64(len(o.data)), at, n, uint64(o.token)|uint64(port)<<32|uint64(e.iface.bulk.weigh())<<48)
	if e.Commit() != nil {
		return false
	}
	if at < uint64(o.asked) {
		e.iface.counts.Again++
	}
	o.asked = max(o.asked, int(at+n))
	return true
}

// askBytes is the payload of idAsk.
const askBytes = 6 * 8

// takeBulk takes frames that have come, straight to where they belong. It stops at the end of a pull,
// which somebody usually waits for, and reports it.
func (i *Iface) takeBulk() (n int, ended bool) {
	b, empty := i.bulk.link, i.bulk.empty
	i.bulk.empty = false
	for ; b != nil && n < bulkPerTurn && !ended; n++ {
		f, size, ok := b.Next()
		if !ok {
			i.bulk.empty = true
			i.bulk.vain++
			break
		}
		o := i.frameOf(f, size)
		if o == nil {
			_, _ = b.Take(nil) // a copy, or too late
			continue
		}
		whole, err := b.Take(o.data[f.At : f.At+uint64(size)])
		switch {
		case err != nil:
			o.ep.completePull(o, err)
		case whole:
			ended = i.tookFrame(o, f.At, uint64(size))
		}
	}
	waiting := 0
	if n == bulkPerTurn && empty && len(i.active) == 0 {
		waiting = b.Waiting()
	}
	i.bulk.turn(n, waiting)
	return n, ended
}

// frameOf is the operation that expects a frame, or nil.
func (i *Iface) frameOf(f pm.Frame, size int) *op {
	o := i.calls.Get(f.Call)
	if o == nil || o.pull == nil || o.ep.rank != f.Rank || o.token != f.Token || o.completed || o.ep.inboundClosed {
		return nil
	}
	if !o.pull.Expects(f.At, uint64(size)) || o.ep.regionClosed(o) {
		return nil
	}
	return o
}

// regionClosed reports whether a put's memory was closed meanwhile, and ends the put then.
func (e *EP) regionClosed(o *op) bool {
	if o.kind != opFill || o.region.incarnation == o.incarnation {
		return false
	}
	e.completePull(o, ErrKey)
	return true
}

// tookFrame takes note of bytes that came, and reports whether they were the last of the pull.
func (i *Iface) tookFrame(o *op, at, n uint64) (last bool) {
	i.bulk.reader.Took(bulkNow(), o.pull, at, n)
	if last = o.pull.Done(); last {
		o.ep.completePull(o, nil)
	}
	return last
}

// completePull ends a pull for its caller. The operation itself ends when its owner has said of
// each piece that it was sent: its number must not name another before.
func (e *EP) completePull(o *op, err error) {
	if o.completed {
		return
	}
	o.completed = true
	e.iface.bulk.reader.Stop(o.pull)
	done, settled := o.done, o.pull.Settled()
	o.done = nil
	e.endRead(o)
	if o.kind == opFill {
		e.finishFill(o, err)
	}
	if settled {
		e.finishCall(o, nil)
	}
	if done != nil {
		done.Complete(err)
	}
}

// finishFill reports the end of a put whose bytes were pulled.
func (e *EP) finishFill(o *op, err error) {
	why := statusOK
	if err != nil {
		why = statusKey // the bytes, or their place, are not there any more
	}
	e.servedRequest(why)
	if err != nil {
		return
	}
	h := Header{To: o.remote.Port, From: o.remote.From}
	if o.hasImmediate {
		h.Bits = bitData
	}
	e.notePut(h, o.region, len(o.data), o.immediate)
}

// onPulled takes a part of a pull that came through the channel.
func (e *EP) onPulled(p *Packet, o *op, at uint64, size int) {
	switch {
	case o.completed || e.regionClosed(o):
		return
	case size <= 0 || !o.pull.Expects(at, uint64(size)):
		e.violated()
		return
	}
	if _, err := p.CopyTo(o.data[at:at+uint64(size)], 8); err != nil {
		return // the peer died
	}
	e.iface.tookFrame(o, at, uint64(size))
}

// onSent notes that the owner has sent a piece, or why it cannot.
func onSent(p *Packet) {
	e := p.EP
	var w [2]uint64
	if !p.words(w[:]) {
		return
	}
	o := e.iface.calls.Get(p.Arg)
	err := status(p.Bits).err()
	if o == nil || o.ep != e || o.pull == nil || errors.Is(err, ErrPeer) {
		e.violated()
		return
	}
	if e.iface.bulk.reader.Sent(bulkNow(), o.pull, w[0], w[1]) != nil {
		e.violated()
		return
	}
	switch {
	case err != nil && !o.completed:
		e.completePull(o, err)
	case o.completed && o.pull.Settled():
		e.finishCall(o, nil)
	}
}
