package channels

import (
	"encoding/binary"
	"fmt"
	"score/channels/abi"
	"score/channels/release"
	"sync/atomic"
	"time"
)

const (
	// checkInterval is the time between two checks of the lanes: a thousandth of what a lane's
	// worth of messages takes to refill, and far more than a check costs.
	checkInterval = time.Millisecond
	// silentChecks is the number of checks in a row that find no new message in a lane before it is
	// asked back. Checks are counted and not time, because a gang that is off is silent and does
	// not check.
	silentChecks = 10
	// wantChecks is for how many checks senders that want a lane wait for a silent one. Then the
	// request is dropped, so that checks end while all lanes are busy; a sender asks again after
	// askEvery messages.
	wantChecks = 10 * silentChecks
)

// laneKeeper is the inbox's account of its lanes. It offers them to senders, follows senders into
// them, asks silent ones back while others want one, and frees those that were left.
//
// What holds for each lane, with used = slot.own != nil:
//
//	Owner = LaneWithheld or 0  =>  !used         nobody writes there
//	Owner = rank + 1, !used                      claimed, and its record not met yet
//	used, !ended                                 in Inbox.rings
//	used, ended                                  all was read; own.head <= own.cursor
//
// A lane becomes free only when own.head = own.cursor: each of its messages was given back.
type laneKeeper struct {
	slots     []laneSlot // by number; that of lane 0 is not used
	wanted    *uint32    // Status.Wanted
	pending   bool       // something below is not finished, so checks go on
	checkedAt int64      // when, by Nanos
	gone      uint32     // Status.Gone as last seen here
	waited    int        // checks since lanes were first wanted
	memory    *LaneMemory
	charged   int // lanes that memory counts
	ask       func(rank uint32)
}

// laneSlot is one lane.
type laneSlot struct {
	own      *reader
	ended    bool
	recalled bool
	quiet    int    // checks in a row without a new message
	seen     uint64 // own.cursor at the last check
	dead     bool   // its writer surely died
	deadAt   uint64 // end of the shared ring after that: all the writer left is before it
}

// openLanes offers as many lanes as the ranks of the node can use and the memory allows.
func (in *Inbox) openLanes(memory *LaneMemory, ask func(rank uint32)) {
	img, l := in.img, &in.img.layout
	in.lanes = laneKeeper{
		slots: make([]laneSlot, l.Lanes), wanted: img.statusWord(abi.StatusWantedAt), memory: memory, ask: ask,
	}
	initial := int(min(l.Lanes-1, l.LocalRanks))
	for lane := uint32(1); lane < l.Lanes; lane++ {
		switch owner := atomic.LoadUint64(img.laneOwner(lane)); {
		case owner != abi.LaneWithheld:
			memory.charge(l.LaneBytes)
			in.lanes.charged++
		case in.lanes.charged < initial && in.chargeLane():
			in.offerLane(lane)
		}
	}
}

// closeLanes gives the lanes' memory back to LaneMemory.
func (in *Inbox) closeLanes() {
	for ; in.lanes.charged > 0; in.lanes.charged-- {
		in.lanes.memory.put(in.img.layout.LaneBytes)
	}
}

func (in *Inbox) chargeLane() bool {
	if !in.lanes.memory.take(in.img.layout.LaneBytes) {
		return false
	}
	in.lanes.charged++
	return true
}

// offerLane lets senders claim a lane that is charged and not in use.
func (in *Inbox) offerLane(lane uint32) {
	atomic.StoreUint64(in.img.laneOwner(lane), 0)
	in.lanes.waited = 0
	atomic.StoreUint32(in.lanes.wanted, 0) // those that still want one ask again when Offers moves
	atomic.AddUint32(in.img.statusWord(abi.StatusOffersAt), 1)
}

// withholdLane gives a lane's memory back: the lane's owner word is LaneWithheld already.
func (in *Inbox) withholdLane(lane uint32) {
	l := &in.img.layout
	in.img.discard(l.LaneRing(lane), uint64(l.LaneBytes))
	in.lanes.memory.put(l.LaneBytes)
	in.lanes.charged--
}

// attendLanes is called now and then, on the slow paths of the inbox.
func (in *Inbox) attendLanes() {
	k := &in.lanes
	if atomic.LoadUint32(k.wanted) == 0 && !k.pending && in.img.goneCount() == k.gone && !k.memory.isShort() {
		return
	}
	if now := Nanos(); now-k.checkedAt >= int64(checkInterval) {
		k.checkedAt = now
		in.checkLanes()
	}
}

// checkLanes does what is due for the lanes.
func (in *Inbox) checkLanes() {
	k := &in.lanes
	gone := in.img.goneCount()
	k.pending = false
	for lane := uint32(1); lane < in.img.layout.Lanes; lane++ {
		in.checkLane(lane, gone != k.gone)
	}
	k.gone = gone
	if wanted := atomic.LoadUint32(k.wanted); wanted != 0 {
		in.serveLaneRequests(wanted)
	} else if k.memory.isShort() {
		in.yieldLane()
	}
}

// checkLane counts how long a lane was silent, and frees it if it was left.
func (in *Inbox) checkLane(lane uint32, deaths bool) {
	s := &in.lanes.slots[lane]
	owner := atomic.LoadUint64(in.img.laneOwner(lane))
	if s.own == nil && (owner == 0 || owner == abi.LaneWithheld) {
		*s = laneSlot{}
		return
	}
	if s.ended {
		in.freeLane(lane)
		return
	}
	rank := uint32(owner - 1)
	if s.own != nil {
		rank = s.own.writer
	}
	in.countQuiet(lane, s)
	if !s.dead && in.laneWriterDead(s, rank, deaths) {
		s.dead, s.deadAt = true, in.img.sharedPos()
	}
	if s.dead {
		in.leaveDead(lane, s)
	}
	in.lanes.pending = in.lanes.pending || s.recalled || s.dead && !s.ended && owner != 0
}

// countQuiet notes whether a message came since the last check; if one did, the lane is no longer
// asked back.
func (in *Inbox) countQuiet(lane uint32, s *laneSlot) {
	if s.own == nil || s.own.cursor == s.seen && atomic.LoadUint64(s.own.next) == 0 {
		s.quiet++
		return
	}
	s.quiet, s.seen = 0, s.own.cursor
	if s.recalled {
		s.recalled = false
		in.setRecall(lane, 0)
	}
}

func (in *Inbox) setRecall(lane, value uint32) {
	atomic.StoreUint32(in.img.mem.u32(in.img.layout.Lane(lane)+abi.LaneRecallAt), value)
}

// laneWriterDead reports whether the lane's writer surely died. It asks the system ever more
// rarely, and only about a writer that does not do what it was asked.
func (in *Inbox) laneWriterDead(s *laneSlot, rank uint32, deaths bool) bool {
	if deaths && in.img.PeerGone(rank) {
		return true
	}
	return (s.own == nil || s.recalled) && s.quiet > silentChecks && s.quiet&(s.quiet-1) == 0 && in.img.writerDead(rank)
}

// leaveDead ends the lane of a writer that died, once all was read that it left there and in the
// shared ring: a record there may still name the lane.
func (in *Inbox) leaveDead(lane uint32, s *laneSlot) {
	shared := in.rings[0]
	if (shared.cursor-s.deadAt)&posMask >= 1<<(64-tailShift-1) {
		return
	}
	if s.own == nil {
		in.releaseLane(lane)
	} else if atomic.LoadUint64(s.own.next) == 0 {
		in.endLane(lane)
	}
}

// followLane follows a sender into its lane.
func (in *Inbox) followLane(r *reader, rank uint32, word uint64) (Message, bool) {
	lane := atomic.LoadUint32(r.progress(r.cursor))
	l := &in.img.layout
	if !r.shared || lane == 0 || lane >= l.Lanes || in.lanes.slots[lane].own != nil ||
		atomic.LoadUint64(in.img.laneOwner(lane)) != uint64(rank)+1 {
		return in.stopReading(r, word)
	}
	if err := in.img.ensure(l.LaneRing(lane), uint64(l.LaneBytes)); err != nil {
		in.damage = err
		return Message{}, false
	}
	r.drop(1)
	own := newReader(in.img.mem.ring(l.LaneRing(lane), l.LaneBytes), in.img.mem.u64(l.Lane(lane)), rank, 1)
	s := &in.lanes.slots[lane] // its writer may be dead already
	s.own, s.seen, s.quiet = own, own.cursor, 0
	in.rings = append(in.rings, own)
	in.img.count(abi.LanesOpened, 1)
	in.turned = true
	return Message{}, false
}

// leaveLane leaves a lane with its sender, after its last message: until then the shared ring has
// to wait, because the sender's newer messages lie there.
func (in *Inbox) leaveLane(r *reader, rank uint32, word uint64) (Message, bool) {
	lane := atomic.LoadUint32(r.progress(r.cursor))
	if !r.shared || word&abi.MaxLength != abi.LaneEndBytes || lane == 0 || lane >= in.img.layout.Lanes {
		return in.stopReading(r, word)
	}
	s := &in.lanes.slots[lane]
	if s.own == nil || s.ended || s.own.writer != rank {
		return in.stopReading(r, word)
	}
	tail := binary.LittleEndian.Uint64(r.bytes(r.cursor, abi.LaneEndBytes))
	if s.own.cursor != tail {
		if atomic.LoadUint64(s.own.next) != 0 {
			return Message{}, false
		}
		// All of the lane was written before this record, so the rest will not come.
		in.img.count(abi.Damaged, 1)
		in.damage = fmt.Errorf("%w: the lane of rank %d ends after %d lines, its sender wrote %d", ErrDamaged, rank, s.own.cursor, tail)
	}
	r.drop(1)
	in.endLane(lane)
	in.turned = true
	return Message{}, false
}

// endLane stops reading a lane, and frees it when its messages were given back.
func (in *Inbox) endLane(lane uint32) {
	s := &in.lanes.slots[lane]
	s.ended, s.recalled = true, false
	for i, r := range in.rings {
		if r == s.own {
			in.rings = append(in.rings[:i], in.rings[i+1:]...)
			break
		}
	}
	in.turnTo(0)
	in.img.count(abi.LanesGivenBack, 1)
	in.freeLane(lane)
}

// freeLane frees a lane that was left, unless messages of it are still held.
func (in *Inbox) freeLane(lane uint32) {
	own := in.lanes.slots[lane].own
	if own.head != own.cursor {
		in.lanes.pending = true
		return
	}
	release.Store64(own.commit(own.head), 0) // as its next writer expects it
	in.releaseLane(lane)
}

// releaseLane offers a lane that nobody uses, or withholds it for the sake of another inbox.
func (in *Inbox) releaseLane(lane uint32) {
	in.lanes.slots[lane] = laneSlot{}
	in.setRecall(lane, 0)
	if in.lanes.memory.isShort() && atomic.LoadUint32(in.lanes.wanted) == 0 {
		atomic.StoreUint64(in.img.laneOwner(lane), abi.LaneWithheld)
		in.withholdLane(lane)
		return
	}
	in.offerLane(lane)
}
