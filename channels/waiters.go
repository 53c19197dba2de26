package channels

import (
	"math/bits"
	"score/channels/abi"
	"sync/atomic"
)

// A sender that found an inbox full may sleep until there is space. It sets its bit
// in the receiver's Waiters, looks once more, and sleeps on its own context's
// word, where messages for it wake it as well. The receiver wakes those whose
// bits are set when it has given back a good part of a ring, or has nothing to do: waking
// for each line would cost more than the messages.

// wakeLines is how much must be given back before sleeping senders are woken.
func (in *Inbox) wakeLines() uint64 {
	return uint64(min(in.img.layout.LaneBytes, in.img.layout.SharedBytes)) / abi.LineBytes / 4
}

func (img *Image) waiterAny() *uint64 { return img.mem.u64(img.layout.Waiters) }

func (img *Image) waiterWord(index int) *uint64 {
	return img.mem.u64(img.layout.Waiters + abi.WaitersBitsAt + uint64(index/64)*8)
}

// AwaitSpace asks the receiver to wake the sender's rank when there is space. The
// caller must then look for space once more before it sleeps, and after
// Image.Sleep of its own context announced the sleep.
func (s *Sender) AwaitSpace() {
	index, _ := s.img.index(s.rank)
	atomic.OrUint64(s.img.waiterWord(index), 1<<(index%64))
	atomic.StoreUint64(s.img.waiterAny(), 1)
}

// ReceiverDead reports whether the receiver's process surely died though nobody marked it.
func (s *Sender) ReceiverDead() bool { return s.img.Owner(abi.RoleProcess).Dead() }

func (in *Inbox) wakeSome() {
	if in.freed >= in.wakeLines() {
		in.wakeAll()
	}
}

// wakeAll wakes every sender that waits.
func (in *Inbox) wakeAll() {
	in.freed = 0
	atomic.StoreUint64(in.img.waiterAny(), 0)
	words := (len(in.img.local) + 63) / 64
	for w := range words {
		set := atomic.SwapUint64(in.img.waiterWord(w*64), 0)
		for ; set != 0; set &= set - 1 {
			index := w*64 + bits.TrailingZeros64(set)
			if index < len(in.img.local) && in.wake != nil {
				in.wake(in.img.local[index])
			}
		}
	}
}
