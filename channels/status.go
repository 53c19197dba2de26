package channels

import (
	"fmt"
	"score/channels/abi"
	"sync/atomic"
	"time"
)

// statusWord is a field of abi.Status.
func (img *Image) statusWord(at uint64) *uint32 { return img.mem.u32(img.layout.Status + at) }

// State is abi.StateOpen, abi.StateClosed or abi.StateGone.
func (img *Image) State() uint32 { return atomic.LoadUint32(img.mem.u32(img.layout.Status)) }

// SetState tells senders that the owner closed the channel or died.
func (img *Image) SetState(state uint32) {
	atomic.StoreUint32(img.mem.u32(img.layout.Status), state)
}

// Sleeping reports whether the owner waits for a message in its sleep; it drives itself when
// something comes.
func (img *Image) Sleeping() bool { return atomic.LoadUint32(img.sleepWord()) != 0 }

func (img *Image) sleepWord() *uint32 { return img.statusWord(abi.StatusSleepingAt) }

// Wake wakes the owner if it sleeps, and reports whether it did.
func (img *Image) Wake() bool {
	if !atomic.CompareAndSwapUint32(img.sleepWord(), 1, 0) {
		return false
	}
	futexWakeOne(img.sleepWord())
	return true
}

// How long a sleep lasts at most before the sleeper checks again.
const (
	// maxSleep is only a net under the protocol: a sleeper that is woken never notices it, and a
	// check each second costs nothing measurable.
	maxSleep = time.Second
	// sleepUnfenced is for kernels that refuse membarrier to this process: a
	// message whose sender did not see the sleeper is then late by at most this.
	sleepUnfenced = time.Millisecond
)

// Sleep lets the owner sleep until it is roused or the time is over. It calls check after the owner
// announced that it sleeps, and returns at once if check finds something. Only the owner calls it.
func (img *Image) Sleep(timeout time.Duration, check func() bool) {
	word := img.sleepWord()
	atomic.StoreUint32(word, 1)
	limit := maxSleep
	if !fenceAll() {
		limit = sleepUnfenced
	}
	if !check() {
		futexSleep(word, 1, min(timeout, limit))
	}
	atomic.StoreUint32(word, 0)
}

// BeginWait records that the owner sleeps from now on until something comes, which distinguishes a
// program that waits from one that was stopped while it polled. how is abi.WaitMessage, ...
func (img *Image) BeginWait(how uint32) {
	atomic.StoreUint64(img.waitsSince(), uint64(Nanos()))
	atomic.StoreUint32(img.statusWord(abi.StatusWaitsAt), how)
}

// EndWait takes BeginWait back.
func (img *Image) EndWait() {
	atomic.StoreUint32(img.statusWord(abi.StatusWaitsAt), abi.WaitNone)
}

// Waits says how the owner waits, and since when by Nanos.
func (img *Image) Waits() (how uint32, since int64) {
	return atomic.LoadUint32(img.statusWord(abi.StatusWaitsAt)), int64(atomic.LoadUint64(img.waitsSince()))
}

func (img *Image) waitsSince() *uint64 { return img.mem.u64(img.layout.Status + abi.StatusSinceAt) }

// PeerGone reports whether a rank of this node was marked as dead.
func (img *Image) PeerGone(rank uint32) bool {
	if _, ok := img.index(rank); !ok {
		return false
	}
	at := img.layout.Peer(rank)
	return img.ensure(at, abi.PeerBytes) == nil && atomic.LoadUint32(img.mem.u32(at+abi.LocalPeerGoneAt)) != 0
}

// MarkPeerGone tells the owner that a rank of this node died, and wakes it. The agent calls it, or
// any process to which the kernel reported the death.
func (img *Image) MarkPeerGone(rank uint32) error {
	if _, ok := img.index(rank); !ok {
		return ErrRank
	}
	at := img.layout.Peer(rank)
	if err := img.ensure(at, abi.PeerBytes); err != nil {
		return err
	}
	atomic.StoreUint32(img.mem.u32(at+abi.LocalPeerGoneAt), 1)
	atomic.AddUint32(img.statusWord(abi.StatusGoneAt), 1)
	img.Wake()
	return nil
}

func (img *Image) goneCount() uint32 {
	return atomic.LoadUint32(img.statusWord(abi.StatusGoneAt))
}

// AskLanes tells the owner that a rank of this node asks for a lane that the owner writes, and
// wakes it. The owner then looks which: Sender.Recalled.
func (img *Image) AskLanes() {
	atomic.AddUint32(img.statusWord(abi.StatusRecallsAt), 1)
	img.Wake()
}

// LanesAsked moves with each AskLanes.
func (img *Image) LanesAsked() uint32 {
	return atomic.LoadUint32(img.statusWord(abi.StatusRecallsAt))
}

// SetOwner notes which process plays a role: abi.RoleProcess or abi.RoleAgent.
func (img *Image) SetOwner(role uint32, p Process) {
	at := img.ownerAt(role)
	atomic.StoreUint64(img.mem.u64(at+abi.OwnerStartAt), p.Start)
	atomic.StoreUint64(img.mem.u64(at+abi.OwnerSpaceAt), p.Space)
	atomic.StoreUint32(img.mem.u32(at), p.Pid)
}

// ownerChanging in Pid marks an Owner that is being written. No process has such a number.
const ownerChanging uint32 = 1 << 31

// Own notes the process as the one that uses the image. ErrOwned if another one that lives has it
// open: two processes that receive from one image would damage it. A process in another pid
// namespace cannot be checked, and loses the image.
func (img *Image) Own(me Process) error {
	pid := img.mem.u32(img.ownerAt(abi.RoleProcess))
	seen := atomic.LoadUint32(pid)
	if seen&ownerChanging != 0 {
		return ErrOwned
	}
	was := img.Owner(abi.RoleProcess)
	open := img.State() == abi.StateOpen && was.Pid != 0 && was.Space == me.Space
	if open && was != me && !was.Dead() {
		return fmt.Errorf("%w: process %d", ErrOwned, was.Pid)
	}
	if !atomic.CompareAndSwapUint32(pid, seen, ownerChanging|me.Pid) {
		return ErrOwned
	}
	img.SetOwner(abi.RoleProcess, me)
	return nil
}

// Owner is the process that plays a role; its Pid is 0 if none does.
func (img *Image) Owner(role uint32) Process {
	at := img.ownerAt(role)
	pid := atomic.LoadUint32(img.mem.u32(at))
	if pid&ownerChanging != 0 {
		return Process{}
	}
	return Process{
		Pid:   pid,
		Start: atomic.LoadUint64(img.mem.u64(at + abi.OwnerStartAt)),
		Space: atomic.LoadUint64(img.mem.u64(at + abi.OwnerSpaceAt)),
	}
}

func (img *Image) ownerAt(role uint32) uint64 {
	if role == abi.RoleAgent {
		return img.layout.Owners + abi.OwnerBytes
	}
	return img.layout.Owners
}

// Counter is the value of a counter as last published.
func (img *Image) Counter(c abi.Counter) uint64 {
	if int(c) >= len(abi.Counters) {
		return 0
	}
	return atomic.LoadUint64(img.counter(c))
}

func (img *Image) counter(c abi.Counter) *uint64 {
	return img.mem.u64(img.layout.Counters + uint64(c)*8)
}

// count adds to a counter on a way that is not hot.
func (img *Image) count(c abi.Counter, n uint64) { atomic.AddUint64(img.counter(c), n) }
