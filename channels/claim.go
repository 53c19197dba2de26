package channels

import (
	"encoding/binary"
	"score/channels/abi"
	"sync/atomic"
)

const (
	// noLane is claimLane's result if no lane is free or there is no memory for a lane.
	noLane = ^uint32(0)
	// laneAfter is how many messages a sender writes into the shared ring before it asks for a
	// lane, where lanes are scarce: a sender that only takes part in a start-up barrier does not
	// take a lane from a neighbour.
	laneAfter = 32
	// askEvery is how many more messages it writes before it asks again though no lane was offered
	// meanwhile: the receiver forgets a request if no lane falls silent.
	askEvery = 1024
)

// openLane gives the sender a ring of its own, if one is free and it is time. Its messages stay
// in order: see DESIGN.md, "Lanes".
func (s *Sender) openLane() {
	l := &s.img.layout
	if s.sharedCount < s.laneFrom || l.Lanes == 1 {
		return
	}
	if s.claimed == 0 && !s.claim() {
		return
	}
	pos, ok := s.shared.reserve(0)
	if !ok {
		return
	}
	control := l.Lane(s.claimed)
	head := s.img.mem.u64(control)
	s.lane = newLaneWriter(s.img.mem.ring(l.LaneRing(s.claimed), l.LaneBytes), head, atomic.LoadUint64(head), s.rank)
	s.shared.publishAt(pos, abi.Commit(0, abi.KindLane, s.rank), s.claimed)
	s.wakeSleeper()
	s.open = true
}

// claim takes a free lane, unless none was offered since the last attempt.
func (s *Sender) claim() bool {
	offers := atomic.LoadUint32(s.offers)
	if s.refused && offers == s.refusedAt && s.sharedCount < s.askAt {
		return false
	}
	if lane := s.img.claimLane(s.rank); lane != noLane {
		s.claimed, s.refused = lane, false
		return true
	}
	if !s.refused || offers != s.refusedAt || atomic.LoadUint32(s.wanted) == 0 {
		atomic.AddUint32(s.wanted, 1)
		s.img.count(abi.LanesWanted, 1)
	}
	s.refused, s.refusedAt, s.askAt = true, offers, s.sharedCount+askEvery
	return false
}

// Recalled reports whether the receiver asks for the sender's lane, to give it to another one.
func (s *Sender) Recalled() bool { return s.open && atomic.LoadUint32(s.recall()) != 0 }

func (s *Sender) recall() *uint32 {
	return s.img.mem.u32(s.img.layout.Lane(s.claimed) + abi.LaneRecallAt)
}

// GiveBack leaves the lane, if the sender has one, and reports whether it has none now. Messages
// after that go through the shared ring, until the sender opens a lane again. It is false while a
// message is reserved in the lane, or while the shared ring has no space.
func (s *Sender) GiveBack() bool {
	if !s.open {
		return true
	}
	if s.pending >= 0 && s.at == s.lane.tail {
		return false
	}
	pos, ok := s.shared.reserve(abi.LaneEndBytes)
	if !ok {
		return false
	}
	binary.LittleEndian.PutUint64(s.shared.bytes(pos, abi.LaneEndBytes), s.lane.tail)
	s.shared.publishAt(pos, abi.Commit(abi.LaneEndBytes, abi.KindLaneEnd, s.rank), s.claimed)
	s.open, s.claimed, s.pending = false, 0, -1
	s.sharedCount, s.laneFrom = 0, laneAfter
	s.wakeSleeper()
	return true
}

// claimLane takes a free lane, or noLane. Lane 0 is the network's.
func (img *Image) claimLane(rank uint32) uint32 {
	l := &img.layout
	for lane := uint32(1); lane < l.Lanes; lane++ {
		owner := img.laneOwner(lane)
		if atomic.LoadUint64(owner) != 0 || !atomic.CompareAndSwapUint64(owner, 0, uint64(rank)+1) {
			continue
		}
		// The reader may have given the memory away since this process last used it.
		at := l.LaneRing(lane)
		if img.ensureAll(at/abi.PageBytes, (at+uint64(l.LaneBytes)-1)/abi.PageBytes) == nil {
			return lane
		}
		atomic.StoreUint64(owner, 0)
		return noLane
	}
	return noLane
}

// laneOwner is the Owner word of a lane.
func (img *Image) laneOwner(lane uint32) *uint64 {
	return img.mem.u64(img.layout.Lane(lane) + abi.LaneOwnerAt)
}
