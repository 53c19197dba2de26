package sim

import (
	"bytes"
	"errors"
	"fmt"
	"score/channels"
	"score/channels/abi"
	"score/channels/drive"
)

// The process of a driven context: what it sends and receives. Its messages are longer than a
// payload, or shorter.

func (c *driveContext) Send(now int64, to uint16, payload Payload) (ok bool) {
	m := payload.Message()
	c.scratch = grown(c.scratch, c.d.Longest+8)
	data := c.d.bytes(m, c.scratch)
	err := channels.ErrFull // of who may not drive now
	c.asProcess(func(d *drive.Driver) { err = c.send(d, now, uint32(to), data) })
	switch {
	case err == nil:
		c.ledger.sent(to, len(data))
		return true
	case errors.Is(err, channels.ErrFull), errors.Is(err, channels.ErrGone), errors.Is(err, channels.ErrClosed):
		return false
	}
	c.fail(err)
	return false
}

// send sends in one of the ways that there are.
func (c *driveContext) send(d *drive.Driver, now int64, to uint32, data []byte) error {
	way := c.dice.below(4)
	if way < 2 {
		return d.Send(to, data, way == 0, now)
	}
	k, room, err := d.Reserve(to, len(data))
	if err != nil {
		return err
	}
	if way == 3 && c.dice.chance(100) {
		d.Abandon(k)
		return d.Send(to, data, true, now)
	}
	copy(room, data)
	return d.Commit(to, k, now)
}

func grown(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

func (c *driveContext) Receive(now int64) (Payload, bool) {
	c.poll()
	if !c.hasHead {
		c.asProcess(func(d *drive.Driver) { d.Drive(now) })
		c.poll()
	}
	for ; c.voids < c.img.Counter(abi.Voided); c.voids++ {
		c.ledger.voided()
	}
	switch {
	case !c.hasHead:
		c.idle = true
		return Payload{}, false
	case c.in.Lost(c.head):
		c.release()
		return Payload{}, false
	case c.head.Available() < c.head.Len():
		c.idle = true
		return Payload{}, false
	}
	p := c.read(c.head)
	c.release()
	return p, true
}

// maxPolls is how many polls it takes at most until one finds the message that is there: pads and
// messages without tail are passed one by one.
const maxPolls = 8

func (c *driveContext) poll() {
	for i := 0; i < maxPolls && !c.hasHead; i++ {
		c.head, c.hasHead = c.in.Poll()
	}
}

// read takes the message apart, and compares it with what was sent. One too short to say
// who it is must be the next one.
func (c *driveContext) read(got channels.Message) Payload {
	from := uint16(got.Rank())
	m := Message{Job: c.Job, Channel: c.Channel, From: from, To: c.Rank, Index: c.ledger.next(from)}
	data := got.Head()
	if len(data) >= len(Payload{}) {
		m = Payload(data).Message()
	}
	c.scratch = grown(c.scratch, c.d.Longest+8)
	if want := c.d.bytes(m, c.scratch); !bytes.Equal(data, want) {
		c.fail(fmt.Errorf("message %d of rank %d has %d bytes, want %d others: %.20x, want %.20x", m.Index, from, len(data), len(want), data, want))
	}
	return m.Payload()
}

func (c *driveContext) release() {
	c.hasHead = false
	c.ledger.released(uint16(c.head.Rank()), c.head.Len())
	if err := c.in.Release(c.head); err != nil {
		c.fail(err)
	}
}
