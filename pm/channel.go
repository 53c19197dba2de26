package pm

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"score/channels"
	"score/channels/handover"
	"slices"
	"time"
)

// Channel is this rank's end of a channel. One goroutine uses it at a time.
type Channel struct {
	process    *Process
	img        *channels.Image
	in         *channels.Inbox
	local      []uint32           // ranks of this node
	senders    []*channels.Sender // by place in local; nil before the first message
	images     []*channels.Image  // of those ranks
	spin       time.Duration      // how long to spin while waiting
	maxMessage int
	flow       Flow

	net *network // the way to ranks on other nodes; nil: there are none

	out     *channels.Sender // whose buffer GetSendBuffer returned
	outKept channels.Kept    // or the place in the send buffer, for a rank on another node
	outTo   int
	outLen  int

	ahead    channels.Message // taken by Poll
	hasAhead bool
	gone     []error // ends of peers that Receive has still to report

	lanesAsked uint32 // Image.LanesAsked, up to which lanes were given back

	wakeWhen func() bool // what ends a wait besides messages; nil: nothing

	tally   channels.Tally
	beside  bool                 // waits are not reported to the node
	napping bool                 // naps were reported to the node
	stack   []func(*StackCounts) // of the layers above
	counts  StackCounts          // what they said last
	shows   uint32               // times they might have been shown
	closed  bool
}

// newChannel gets the rank's own context. Those of its peers follow at the first message.
func newChannel(p *Process, number uint32, flow Flow) (*Channel, error) {
	img, err := p.client.ImageWith(number, handover.Own, uint32(flow))
	if errors.Is(err, handover.ErrFlow) {
		return nil, &FlowError{Channel: int(number), Rank: -1, Own: flow}
	}
	if err != nil {
		return nil, openError(err)
	}
	c := &Channel{process: p, img: img, flow: flow, local: img.Local(), maxMessage: int(img.Geometry().MaxMessage)}
	c.senders = make([]*channels.Sender, len(c.local))
	c.images = make([]*channels.Image, len(c.local))
	c.spin = p.settings.spin(len(c.local))
	if err := c.start(); err != nil {
		_ = img.Close()
		return nil, openError(err)
	}
	return c, nil
}

func (c *Channel) start() error {
	me, err := channels.Self()
	if err != nil {
		return err
	}
	if err := c.img.Own(me); err != nil {
		return err
	}
	c.in, err = c.img.InboxWithin(c.process.lanes, c.wake, c.askLane)
	if err != nil {
		return err
	}
	c.in.SetOverlap(c.process.settings.Overlap)
	if g := c.img.Geometry(); g.Ranks == g.LocalRanks {
		return nil
	}
	c.net, err = newNetwork(c)
	return err
}

// Rank is this rank's number.
func (c *Channel) Rank() int { return int(c.img.Rank) }

// Size returns how many ranks the job has.
func (c *Channel) Size() int { return int(c.img.Geometry().Ranks) }

// Number returns the channel's number.
func (c *Channel) Number() int { return int(c.img.Channel) }

// MaxMessage is the length of the longest message in bytes.
func (c *Channel) MaxMessage() int { return c.maxMessage }

// Flow is the channel's flow control.
func (c *Channel) Flow() Flow { return c.flow }

// Job returns a number that no other job has and that does not reveal the job's keys.
func (c *Channel) Job() uint64 {
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64([]byte("score job "), c.img.Job))
	return binary.LittleEndian.Uint64(sum[:])
}

// Host is the address at which other hosts reach this node.
func (c *Channel) Host() netip.Addr {
	if host := c.process.settings.Host; host.IsValid() {
		return host
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// SameNode reports whether messages to the rank go through memory.
func (c *Channel) SameNode(rank int) bool {
	_, ok := c.place(rank)
	return ok
}

// place is where a rank stands among those of this node.
func (c *Channel) place(rank int) (int, bool) {
	if i := rank - int(c.local[0]); uint(i) < uint(len(c.local)) && c.local[i] == uint32(rank) {
		return i, true
	}
	if last := len(c.local) - 1; rank < int(c.local[0]) || rank > int(c.local[last]) {
		return 0, false
	}
	return slices.BinarySearch(c.local, uint32(rank))
}

// sender is the way to a rank.
func (c *Channel) sender(rank int) (*channels.Sender, error) {
	if s := c.known(rank); s != nil {
		return s, nil
	}
	return c.connect(rank)
}

// known is the way to a rank; nil if connect is to tell.
func (c *Channel) known(rank int) *channels.Sender {
	if i := rank - int(c.local[0]); uint(i) < uint(len(c.senders)) && c.local[i] == uint32(rank) {
		return c.senders[i]
	}
	return nil
}

// connect gets the context of a rank on this node.
func (c *Channel) connect(rank int) (*channels.Sender, error) {
	if c.closed {
		return nil, ErrClosed
	}
	if rank < 0 || rank >= c.Size() {
		return nil, fmt.Errorf("%w: %d, the job has ranks 0 to %d", ErrRank, rank, c.Size()-1)
	}
	i, ok := c.place(rank)
	if !ok {
		return nil, errRemote
	}
	if c.senders[i] != nil {
		return c.senders[i], nil
	}
	img, err := c.image(i)
	if err != nil {
		return nil, c.sendError(err, rank)
	}
	s, err := img.Sender(c.img.Rank)
	if err != nil {
		return nil, c.sendError(err, rank)
	}
	s.SetImmediate(c.process.settings.Immediate)
	c.senders[i] = s
	return s, nil
}

// image is the context of the rank at a place.
func (c *Channel) image(place int) (*channels.Image, error) {
	if c.local[place] == c.img.Rank {
		return c.img, nil
	}
	if c.images[place] == nil {
		img, err := c.process.client.ImageWith(c.img.Channel, c.local[place], uint32(c.flow))
		if err != nil {
			return nil, err
		}
		if img.Job != c.img.Job {
			_ = img.Close()
			return nil, channels.ErrDamaged
		}
		c.images[place] = img
	}
	return c.images[place], nil
}

// wake wakes a rank that waits for space in this inbox.
func (c *Channel) wake(rank uint32) {
	place, ok := c.place(int(rank))
	if !ok {
		return
	}
	if img, err := c.image(place); err == nil && img.Wake() {
		c.tally.Wakes++
	}
}

// Close closes this end. Peers that send get ErrPeerClosed; messages that were not
// received are lost; buffers and messages of the channel must not be used any more.
func (c *Channel) Close() error {
	if c.closed {
		return ErrClosed
	}
	c.closed = true
	c.process.forget(c.Number())
	c.in.Close()
	c.leaveLanes()
	if c.net != nil {
		c.net.close()
	}
	c.showTally()
	c.showStack()
	for i, img := range c.images {
		c.senders[i] = nil
		if img != nil {
			_ = img.Close()
		}
	}
	clear(c.senders)
	return c.img.Close()
}
