package channels

import (
	"score/channels/abi"
	"sync/atomic"
)

// What an inbox does when senders find no free lane, in this context or in another of the process.

// serveLaneRequests finds lanes for wanted senders.
func (in *Inbox) serveLaneRequests(wanted uint32) {
	if in.offerMore(int(wanted)) {
		return
	}
	k := &in.lanes
	asked := 0
	for i := range k.slots {
		if k.slots[i].recalled || k.slots[i].ended {
			asked++
		}
	}
	for ; asked < int(wanted) && in.recallLane(); asked++ {
	}
	if k.waited++; k.waited > wantChecks {
		k.waited = 0
		atomic.StoreUint32(k.wanted, 0)
	}
}

// offerMore offers lanes that were withheld, if there is memory for them.
func (in *Inbox) offerMore(limit int) (offered bool) {
	for lane := uint32(1); lane < in.img.layout.Lanes && limit > 0; lane++ {
		if atomic.LoadUint64(in.img.laneOwner(lane)) != abi.LaneWithheld {
			continue
		}
		if !in.chargeLane() {
			break
		}
		in.offerLane(lane)
		offered = true
		limit--
	}
	return offered
}

// recallLane asks back the lane that was silent for the longest time, if one is silent.
func (in *Inbox) recallLane() bool {
	best, quiet := uint32(0), silentChecks-1
	for lane := range in.lanes.slots {
		s := &in.lanes.slots[lane]
		if s.own != nil && !s.ended && !s.recalled && !s.dead && s.quiet > quiet {
			best, quiet = uint32(lane), s.quiet
		}
	}
	if best == 0 {
		return false
	}
	s := &in.lanes.slots[best]
	s.recalled, in.lanes.pending = true, true
	in.setRecall(best, 1)
	if in.lanes.ask != nil {
		in.lanes.ask(s.own.writer)
	}
	return true
}

// yieldLane gives the bytes of a lane to another inbox of the process: a lane that nobody has
// claimed, or one that is silent.
func (in *Inbox) yieldLane() {
	for lane := uint32(1); lane < in.img.layout.Lanes; lane++ {
		if atomic.CompareAndSwapUint64(in.img.laneOwner(lane), 0, abi.LaneWithheld) {
			in.withholdLane(lane)
			return
		}
	}
	for _, s := range in.lanes.slots {
		if s.recalled || s.ended {
			return
		}
	}
	in.recallLane()
}
