// Package skifch is the SkifCh interface over pm: three calls for people who
// build communication libraries and want neither matching nor buffering paid
// for with every message.
//
// Send sends one message made of pieces, or a leading part of it, and says how
// many bytes went. Recv returns the next message in place, in at most ContSize
// pieces, as soon as its first bytes are there: the pieces are what has arrived, and Wait waits for
// the rest. RecvComp gives its memory back. One Recv yields what one Send sent; messages
// of one sender arrive in order, those of different senders in any; a receiver cannot
// ask for one sender's. Each library of a program opens a channel of its own, which
// separates its messages from all others, and has an address there as with a port.
//
//	ch, err := skifch.Open(3)
//	n, err := ch.Send(ch.To(dest), head, body) // ErrAgain: nothing went
//	m, err := ch.Recv()                        // ErrAgain: nothing is there
//	for _, piece := range m.Pieces() { ... }   // m.Available() of m.Size bytes
//	err = m.Wait()                             // all of it, or the sender died
//	for _, piece := range m.Pieces() { ... }
//	err = ch.RecvComp()
package skifch

import (
	"errors"
	"fmt"
	"score/pm"
)

// ContSize is the greatest number of pieces that Recv returns.
const ContSize = 3

// Errors of the package; others are those of package pm.
var (
	// ErrAgain: nothing could be sent, or nothing is there to receive, now.
	ErrAgain = errors.New("skifch: nothing now, try again")
	// ErrAddress: the address is of another channel.
	ErrAddress = errors.New("skifch: address of another channel")
	// ErrNone: RecvComp without a message that was received.
	ErrNone = errors.New("skifch: no message to complete")
)

// Address names one end of a channel.
type Address struct{ Rank, Channel int }

func (a Address) String() string { return fmt.Sprintf("%d:%d", a.Rank, a.Channel) }

// Channel is this rank's end of a channel. One goroutine uses it at a time.
type Channel struct {
	pm   *pm.Channel
	out  []pm.Message // received and not completed, oldest at first
	from int
}

// Open opens a channel of this process, which was started as a rank.
func Open(number int) (*Channel, error) {
	ch, err := pm.Open(number)
	if err != nil {
		return nil, err
	}
	return New(ch), nil
}

// New makes a Channel of an open PM channel, which nobody else may use from then on.
func New(ch *pm.Channel) *Channel { return &Channel{pm: ch} }

// Address is this end's.
func (c *Channel) Address() Address { return c.To(c.pm.Rank()) }

// To is the address of a rank's end of the channel.
func (c *Channel) To(rank int) Address { return Address{Rank: rank, Channel: c.pm.Number()} }

// Size returns how many ranks have an address in the channel.
func (c *Channel) Size() int { return c.pm.Size() }

// Close closes this end.
func (c *Channel) Close() error { return c.pm.Close() }

// Send sends the pieces as one message, or a leading part of them as one message, and
// returns how many bytes went. It buffers nothing: after it, the pieces are the
// caller's again. ErrAgain says that nothing went.
func (c *Channel) Send(to Address, pieces ...[]byte) (int, error) {
	if to.Channel != c.pm.Number() {
		return 0, fmt.Errorf("%w: %v on channel %d", ErrAddress, to, c.pm.Number())
	}
	total := 0
	for _, p := range pieces {
		total += len(p)
	}
	size := min(total, c.pm.MaxMessage())
	n, err := c.sendPart(to.Rank, size, pieces)
	if !errors.Is(err, pm.ErrFull) {
		return n, err
	}
	room, err := c.pm.Room(to.Rank)
	if err != nil {
		return 0, err
	}
	if room < 0 || room == 0 && total > 0 {
		return 0, ErrAgain
	}
	n, err = c.sendPart(to.Rank, min(size, room), pieces)
	return n, again(err, pm.ErrFull)
}

// sendPart sends the first bytes of the pieces as one message.
func (c *Channel) sendPart(rank, length int, pieces [][]byte) (int, error) {
	buf, err := c.pm.GetSendBuffer(rank, length)
	if err != nil {
		return 0, err
	}
	left := buf
	for _, p := range pieces {
		left = left[copy(left, p):]
	}
	if err := c.pm.Send(); err != nil {
		return 0, err
	}
	return length, nil
}

func again(err, now error) error {
	if errors.Is(err, now) {
		return ErrAgain
	}
	return err
}

// Recv returns the next message in place, or ErrAgain. It does not wait for the tail of a message
// that is still arriving: see Message.Wait.
func (c *Channel) Recv() (Message, error) {
	in, err := c.pm.Receive()
	if err != nil {
		return Message{}, again(err, pm.ErrEmpty)
	}
	c.out = append(c.out, in)
	m := Message{From: c.To(in.Source()), Size: in.Len(), in: in}
	m.Pieces()
	return m, nil
}

// RecvComp gives back the memory of the message that was received first and not
// completed yet. It waits for the tail if that is still arriving, but not for a sender that died.
func (c *Channel) RecvComp() error {
	if c.from == len(c.out) {
		return ErrNone
	}
	m := c.out[c.from]
	if c.from++; c.from == len(c.out) {
		c.out, c.from = c.out[:0], 0
	}
	return c.pm.ReleaseReceiveBuffer(m)
}
