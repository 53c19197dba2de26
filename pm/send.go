package pm

import (
	"score/channels"
	"score/channels/abi"
)

// GetSendBuffer returns a buffer for a message of size bytes to the rank, which Send then sends. On
// the same node it is as a rule the receiver's memory itself, to another node it is where the
// message stays until it is acknowledged. A channel has one such buffer at a time: another call
// gives up the last one.
//
// The error is ErrFull, ErrTooLarge, ErrRank, ErrPeerGone, ErrPeerClosed
// or ErrClosed.
func (c *Channel) GetSendBuffer(rank, size int) ([]byte, error) {
	c.releaseBuffer()
	s, err := c.sender(rank)
	if err == errRemote { //nolint:errorlint // connect returns this very value
		return c.reserveRemote(rank, size)
	}
	if err != nil {
		return nil, err
	}
	buf, err := s.Reserve(size)
	if err != nil {
		return nil, c.refused(err, rank)
	}
	c.out, c.outTo, c.outLen = s, rank, size
	return buf, nil
}

// Send sends what is in the buffer. ErrFull leaves the buffer as it is, for another
// try; all other errors give it up.
func (c *Channel) Send() error {
	if c.out == nil {
		return c.commitRemote()
	}
	if err := c.out.Commit(); err != nil {
		err = c.refused(err, c.outTo)
		if err != ErrFull { //nolint:errorlint // refused returns this very value
			c.out = nil
		}
		return err
	}
	c.out = nil
	c.sent(c.outLen)
	return nil
}

// SendBytes sends a copy of data. A long message goes out while it is still
// being copied, unless PM_IMMEDIATE=0. Errors are those of GetSendBuffer.
func (c *Channel) SendBytes(rank int, data []byte) error {
	s, err := c.sender(rank)
	if err == errRemote { //nolint:errorlint // connect returns this very value
		return c.sendRemote(rank, data)
	}
	if err != nil {
		return err
	}
	if err := s.Send(data); err != nil {
		return c.refused(err, rank)
	}
	c.sent(len(data))
	return nil
}

// Head is what a message begins with: up to three words.
type Head = channels.Head

// SendHead sends a message that is a head and a copy of data: the fastest way for short ones.
// Errors are those of GetSendBuffer.
func (c *Channel) SendHead(rank int, h Head, data []byte) error {
	s := c.known(rank)
	if s == nil {
		var err error
		if s, err = c.connect(rank); err != nil {
			return c.sendHeadRemote(rank, h, data, err)
		}
	}
	if err := s.SendHead(h, data); err != nil {
		return c.refused(err, rank)
	}
	c.sent(8*h.Words + len(data))
	return nil
}

// sendHeadRemote is SendHead for a rank without a sender; err is the reason.
func (c *Channel) sendHeadRemote(rank int, h Head, data []byte, err error) error {
	if err != errRemote { //nolint:errorlint // connect returns this very value
		return err
	}
	buf, err := c.GetSendBuffer(rank, 8*h.Words+len(data))
	if err != nil {
		return err
	}
	copy(h.Put(buf), data)
	return c.Send()
}

// Room is the length of the longest message to the rank that would be taken now; -1 if
// not even an empty one would. Errors are those of GetSendBuffer.
func (c *Channel) Room(rank int) (int, error) {
	s, err := c.sender(rank)
	if err == errRemote { //nolint:errorlint // connect returns this very value
		return c.roomRemote(rank)
	}
	if err != nil {
		return 0, err
	}
	if err := s.Ready(0); err != nil && err != channels.ErrFull { //nolint:errorlint // Ready returns this very value
		return 0, c.sendError(err, rank)
	}
	return s.Room(), nil
}

// releaseBuffer gives up the buffer that GetSendBuffer returned last.
func (c *Channel) releaseBuffer() {
	if c.out != nil {
		c.out.Abandon()
		c.out = nil
	}
	if c.outKept != 0 {
		c.abandonRemote()
	}
}

func (c *Channel) sent(length int) {
	c.tally.Sent++
	c.tally.SentBytes += uint64(length)
	if c.tally.Sent%abi.PublishEvery == 0 {
		c.published()
	}
}

// published does the upkeep of a rank that never stops sending, now and then.
func (c *Channel) published() {
	c.showTally()
	c.showStackRarely()
	if c.img.LanesAsked() != c.lanesAsked {
		c.returnLanes()
	}
}

// refused counts a refusal and translates the error.
func (c *Channel) refused(err error, rank int) error {
	err = c.sendError(err, rank)
	if err == ErrFull { //nolint:errorlint // sendError returns this very value
		c.tally.Refused++
	}
	return err
}

func (c *Channel) showTally() { c.img.Show(&c.tally) }
