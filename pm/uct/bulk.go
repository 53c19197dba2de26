package uct

import (
	"score/pm"
	"score/pm/uct/pull"
	"time"
)

const (
	// minBulk is the shortest transfer between nodes, in bytes, that goes as bulk datagrams: for
	// less, asking for the bytes and saying that they came cost more than the copies that they
	// save.
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
