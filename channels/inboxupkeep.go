package channels

import (
	"score/channels/abi"
	"score/channels/release"
	"sync/atomic"
)

// show does the upkeep of an inbox that is never idle, now and then.
func (in *Inbox) show() {
	in.publish()
	in.attendLanes()
}

// idle does the upkeep of an inbox in a due empty poll.
func (in *Inbox) idle() {
	if in.taken != in.shown {
		in.publish()
	}
	if atomic.LoadUint64(in.waiters) != 0 {
		in.wakeAll()
	}
	in.attendLanes()
}

// publish copies the counters into the image.
func (in *Inbox) publish() {
	in.shown = in.taken
	release.Store64(in.img.counter(abi.Received), in.taken)
	release.Store64(in.img.counter(abi.ReceivedBytes), in.bytes)
}

// Damage is not nil once a ring had to be given up; its sender is lost to this rank.
func (in *Inbox) Damage() error { return in.damage }

// TakeDamage is Damage, once.
func (in *Inbox) TakeDamage() error {
	err := in.damage
	in.damage = nil
	return err
}

// Close tells senders that the channel is closed, and wakes those that wait.
func (in *Inbox) Close() {
	in.closed = true
	in.publish()
	in.closeLanes()
	in.img.SetState(abi.StateClosed)
	in.wakeAll()
}

// Gone returns a rank of this node that died and was not returned before. Its
// messages come first: ask after Poll found nothing.
func (in *Inbox) Gone() (rank uint32, ok bool) {
	count := in.img.goneCount()
	if count == in.gone {
		return 0, false
	}
	for i, rank := range in.img.local {
		if !in.reported[i] && in.img.PeerGone(rank) {
			in.reported[i] = true
			return rank, true
		}
	}
	in.gone = count
	return 0, false
}
