package channels

import (
	"encoding/binary"
	"fmt"
	"score/channels/abi"
	"sync/atomic"
)

const (
	// firstPart is how much of a long message is written before it becomes
	// visible: enough that the reader's first copy pays for its cache misses.
	firstPart = 4 << 10
	// nextPart is how much is written between two notes of progress: about 0.7 us
	// of copying against one line that changes hands.
	nextPart = 8 << 10
)

// lineBytes is the length of the longest message that takes one line.
const lineBytes = abi.LineBytes - abi.RecordBytes

// Head is what a message begins with, before its data: up to three words. It has four fields, the
// most that the compiler keeps in registers.
type Head struct {
	First, Second, Third uint64
	Words                int
}

func (h Head) bytes() int { return (h.Words & 3) * 8 }

// noPlace is a position that no lane reaches.
const noPlace = ^uint64(0)

// Sender is the way of one rank into the inbox of another on the same node.
// One goroutine uses it at a time.
type Sender struct {
	img         *Image // the receiver's
	rank        uint32 // the sender's
	lane        laneWriter
	open        bool   // lane is in use
	claimed     uint32 // lane, 0 if none; claimed before it is open if the shared ring is full
	shared      sharedWriter
	sharedCount int // messages in the shared ring since the sender last had a lane
	laneFrom    int // sharedCount from which on it asks for a lane
	state       *uint32
	sleeping    *uint32
	immediate   bool

	wanted, offers *uint32
	refused        bool   // the last attempt to claim a lane failed
	refusedAt      uint32 // offers at that time
	askAt          int    // sharedCount at which the sender asks again

	staged  []byte // buffer of Reserve without a lane
	pending int    // length of the reserved message, -1 if none
	at      uint64 // the lane's tail when it was reserved; noPlace if it is staged
}

// Sender registers this process as the writer for the rank.
func (img *Image) Sender(rank uint32) (*Sender, error) {
	if _, ok := img.index(rank); !ok {
		return nil, fmt.Errorf("%w: rank %d", ErrRank, rank)
	}
	if err := img.register(rank); err != nil {
		return nil, err
	}
	l := &img.layout
	s := &Sender{
		img: img, rank: rank, pending: -1, immediate: true,
		state: img.mem.u32(l.Status), sleeping: img.statusWord(abi.StatusSleepingAt),
		wanted: img.statusWord(abi.StatusWantedAt), offers: img.statusWord(abi.StatusOffersAt),
	}
	if l.LocalRanks >= l.Lanes {
		s.laneFrom = laneAfter
	}
	s.shared = sharedWriter{
		ring: img.mem.ring(l.SharedRing, l.SharedBytes),
		head: img.mem.u64(l.SharedControl), tail: img.mem.u64(l.SharedControl + abi.SharedTailAt),
		rank: rank, dead: img.writerDead,
	}
	return s, nil
}

// SetImmediate chooses whether a long message becomes visible before its last
// byte is written. It does at first.
func (s *Sender) SetImmediate(on bool) { s.immediate = on }

// Send copies a message into the inbox. The error is ErrFull, ErrTooLarge,
// ErrGone or ErrClosed, and then nothing was sent.
func (s *Sender) Send(data []byte) error {
	if len(data) > lineBytes {
		return s.sendSlow(data)
	}
	return s.SendHead(Head{}, data)
}

// SendHead sends a message that is a head and a copy of the data. One that takes one line, the
// commonest, is written without a detour. Errors are those of Send.
func (s *Sender) SendHead(h Head, data []byte) error {
	length := h.bytes() + len(data)
	w := &s.lane
	if !s.open || length > lineBytes || atomic.LoadUint32(s.state) != abi.StateOpen || w.full() && !w.room(1) {
		return s.sendHeadSlow(h, data)
	}
	w.putLine(w.tail, h, data)
	w.commitLine(abi.Commit(length, abi.KindData, w.rank))
	s.wakeSleeper()
	return nil
}

// sendHeadSlow is SendHead for all other cases.
func (s *Sender) sendHeadSlow(h Head, data []byte) error {
	if h.Words == 0 {
		return s.sendSlow(data)
	}
	buf, err := s.Reserve(h.bytes() + len(data))
	if err != nil {
		return err
	}
	copy(h.Put(buf), data)
	if err := s.Commit(); err != nil {
		s.Abandon()
		return err
	}
	return nil
}

// Put writes the head, and returns what is behind it.
func (h Head) Put(buf []byte) []byte {
	if h.Words > 0 {
		binary.LittleEndian.PutUint64(buf, h.First)
	}
	if h.Words > 1 {
		binary.LittleEndian.PutUint64(buf[8:], h.Second)
	}
	if h.Words > 2 {
		binary.LittleEndian.PutUint64(buf[16:], h.Third)
	}
	return buf[h.bytes():]
}

// sendSlow is Send for the first messages, the long ones, and the errors.
func (s *Sender) sendSlow(data []byte) error {
	if err := s.ready(len(data)); err != nil {
		return err
	}
	var pos uint64
	if s.open {
		if !s.lane.fits(abi.Lines(len(data))) {
			return ErrFull
		}
		pos = s.lane.tail
	} else {
		var ok bool
		if pos, ok = s.shared.reserve(len(data)); !ok {
			return ErrFull
		}
	}
	s.copyAt(pos, data)
	s.wakeSleeper()
	return nil
}

// copyAt writes the message and commits it, in parts if it is long.
func (s *Sender) copyAt(pos uint64, data []byte) {
	r := s.ringInUse()
	to := r.bytes(pos, len(data))
	if !s.immediate || len(data) <= firstPart {
		copy(to, data)
		s.commitAt(pos, len(data), abi.KindData, 0)
		return
	}
	copy(to[:firstPart], data)
	s.commitAt(pos, len(data), abi.KindGrowing, firstPart)
	s.wakeSleeper()
	for done := firstPart; done < len(data); {
		end := min(done+nextPart, len(data))
		copy(to[done:end], data[done:end])
		r.setProgress(pos, uint32(end))
		done = end
	}
}

func (s *Sender) ringInUse() ring {
	if s.open {
		return s.lane.ring
	}
	return s.shared.ring
}

func (s *Sender) commitAt(pos uint64, length int, kind uint8, progress uint32) {
	word := abi.Commit(length, kind, s.rank)
	if s.open {
		s.lane.commitRecord(word, abi.Lines(length), progress)
		return
	}
	s.shared.publishAt(pos, word, progress)
	s.sharedCount++
}

// Reserve returns the place of a message of the length, to be filled and then
// committed: with a lane, that is the receiver's inbox itself. Another Reserve,
// Abandon, or Send gives up what was reserved.
func (s *Sender) Reserve(length int) ([]byte, error) {
	s.pending = -1
	if err := s.ready(length); err != nil {
		return nil, err
	}
	if !s.open {
		if cap(s.staged) < length {
			s.staged = make([]byte, length)
		}
		s.pending, s.at = length, noPlace
		return s.staged[:length], nil
	}
	if !s.lane.fits(abi.Lines(length)) {
		return nil, ErrFull
	}
	s.pending, s.at = length, s.lane.tail
	return s.lane.payload(length), nil
}

// Abandon gives up the reserved message.
func (s *Sender) Abandon() { s.pending = -1 }

// Commit sends the reserved message. ErrFull can only come without a lane; the
// message then stays reserved.
func (s *Sender) Commit() error {
	length := s.pending
	if length < 0 || s.open && s.at != s.lane.tail {
		return ErrNotReserved
	}
	if !s.open {
		pos, ok := s.shared.reserve(length)
		if !ok {
			return ErrFull
		}
		s.copyAt(pos, s.staged[:length])
	} else {
		s.commitAt(s.lane.tail, length, abi.KindData, 0)
	}
	s.pending = -1
	s.wakeSleeper()
	return nil
}

// Room is the length of the longest message that would be taken now, at most the longest
// of the channel; -1 if not even an empty one would.
func (s *Sender) Room() int {
	if !s.open {
		return s.shared.largest(int(s.img.layout.MaxMessage))
	}
	return min(s.lane.largest(), int(s.img.layout.MaxMessage))
}

// Ready reports whether a message of the length would be taken now: nil, or the error
// that Send would return.
func (s *Sender) Ready(length int) error {
	if err := s.ready(length); err != nil {
		return err
	}
	if s.open && s.lane.fits(abi.Lines(length)) || !s.open && s.Room() >= length {
		return nil
	}
	return ErrFull
}

// ready checks everything that may forbid a message, and opens the lane when it is time.
func (s *Sender) ready(length int) error {
	switch atomic.LoadUint32(s.state) {
	case abi.StateOpen:
	case abi.StateClosed:
		return ErrClosed
	default:
		return ErrGone
	}
	if length < 0 || length > int(s.img.layout.MaxMessage) {
		return ErrTooLarge
	}
	if !s.open {
		s.openLane()
	}
	return nil
}

func (s *Sender) wakeSleeper() {
	if atomic.LoadUint32(s.sleeping) != 0 {
		s.img.Wake()
	}
}
