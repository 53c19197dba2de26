package channels

import (
	"score/channels/abi"
	"sync/atomic"
)

// noLane in Sender.claimed: all lanes are taken, or there is no memory for
// one; the sender stays with the shared ring.
const noLane = ^uint32(0)

// openLane gives the sender a ring of its own. Its messages stay in order,
// because the reader looks into the lane only after it met the record that names
// the lane, behind all the sender's earlier messages in the shared ring.
func (s *Sender) openLane() {
	l := &s.img.layout
	if s.said < laneAfter && l.LocalRanks >= l.Lanes {
		return
	}
	if s.claimed == 0 {
		s.claimed = s.img.claimLane(s.rank)
	}
	if s.claimed == noLane {
		return
	}
	pos, ok := s.shared.reserve(0)
	if !ok {
		return
	}
	control := l.Lane(s.claimed)
	s.lane = newLaneWriter(s.img.mem.ring(l.LaneRing(s.claimed), l.LaneBytes), s.img.mem.u64(control), 0, s.rank)
	s.shared.publishAt(pos, abi.Commit(0, abi.KindLane, s.rank), s.claimed)
	s.wakeSleeper()
	s.open = true
}

// claimLane takes a free lane, or noLane. Lane 0 is the network's.
func (img *Image) claimLane(rank uint32) uint32 {
	for lane := uint32(1); lane < img.layout.Lanes; lane++ {
		owner := img.mem.u64(img.layout.Lane(lane) + 64)
		if atomic.LoadUint64(owner) != 0 {
			continue
		}
		if img.ensure(img.layout.LaneRing(lane), uint64(img.layout.LaneBytes)) != nil {
			return noLane
		}
		if atomic.CompareAndSwapUint64(owner, 0, uint64(rank)+1) {
			return lane
		}
	}
	return noLane
}

// register notes that this process writes as the rank, so that others can tell
// whether it still lives.
func (img *Image) register(rank uint32) error {
	me, err := Self()
	if err != nil {
		return err
	}
	at := img.layout.Peer(rank)
	if err := img.ensure(at, abi.PeerBytes); err != nil {
		return err
	}
	atomic.StoreUint64(img.mem.u64(at+8), me.Start)
	atomic.StoreUint64(img.mem.u64(at+16), me.Space)
	atomic.StoreUint32(img.mem.u32(at), me.Pid)
	return nil
}

// writer is the process that writes as the rank.
func (img *Image) writer(rank uint32) Process {
	at := img.layout.Peer(rank)
	if img.ensure(at, abi.PeerBytes) != nil {
		return Process{}
	}
	return Process{
		Pid:   atomic.LoadUint32(img.mem.u32(at)),
		Start: atomic.LoadUint64(img.mem.u64(at + 8)),
		Space: atomic.LoadUint64(img.mem.u64(at + 16)),
	}
}

// writerDead reports whether whoever writes as the rank surely died.
func (img *Image) writerDead(rank uint32) bool {
	if _, ok := img.index(rank); !ok {
		return false
	}
	return img.PeerGone(rank) || img.writer(rank).Dead()
}
