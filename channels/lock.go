package channels

import (
	"score/channels/abi"
	"sync/atomic"
	"time"
)

// The driver lock says who runs the context's protocol: the process while it
// polls, or the node's agent. Critical sections take microseconds. The agent has
// precedence: it sets the revoke flag, after which the process does not enter
// again, and waits for the lock with a bound. What it finds then:
//
//	free            it takes the lock
//	holder at work  it gets the lock within microseconds
//	holder died     it breaks the lock; the context may be half changed
//	holder stopped, or will not let go
//	                ErrHolder: it leaves the context alone. The flag stays set, so
//	                the process stops at the end of its section, and the agent
//	                tries again later
//
// The agent never takes the lock from a live holder: a section half done, gone on with
// later, would damage what the agent did in between.

// spinForLock is how long the agent tries to take the lock without sleeping: longer than the
// section of a holder that sends a message. A holder on the agent's own processor cannot go on
// before it sleeps.
const spinForLock = 5 * time.Microsecond

// Taken says how the agent got the lock.
type Taken uint8

// How the agent got the lock.
const (
	TakenFree   Taken = iota + 1 // nobody was in the middle of anything
	TakenBroken                  // the holder died in its section
)

func (img *Image) holder() *uint64  { return img.mem.u64(img.layout.Lock) }
func (img *Image) revoked() *uint32 { return img.mem.u32(img.layout.Lock + abi.LockRevokedAt) }
func (img *Image) wanted() *uint32  { return img.mem.u32(img.layout.Lock + abi.LockWantedAt) }

func holderWord(role, pid uint32) uint64 { return uint64(role)<<32 | uint64(pid) }

// Enter takes the lock for the process, which must be the owner noted with SetOwner.
// It never waits: ErrRevoked if the agent has or wants the lock, ErrHeld if
// another goroutine has it.
func (img *Image) Enter() error {
	if atomic.LoadUint32(img.revoked()) != 0 {
		img.count(abi.LockRefused, 1)
		return ErrRevoked
	}
	me := holderWord(abi.RoleProcess, atomic.LoadUint32(img.mem.u32(img.ownerAt(abi.RoleProcess))))
	if !atomic.CompareAndSwapUint64(img.holder(), 0, me) {
		return ErrHeld
	}
	if atomic.LoadUint32(img.revoked()) != 0 {
		img.Leave()
		img.count(abi.LockRefused, 1)
		return ErrRevoked
	}
	return nil
}

// Leave ends the process's section.
func (img *Image) Leave() { img.unlock() }

func (img *Image) unlock() {
	atomic.StoreUint64(img.holder(), 0)
	if atomic.LoadUint32(img.wanted()) == 1 && atomic.CompareAndSwapUint32(img.wanted(), 1, 0) {
		futexWakeOne(img.wanted())
	}
}

// Revoke keeps the process from entering again. The agent calls it some time
// before Take, to have several contexts let go at once.
func (img *Image) Revoke() { atomic.StoreUint32(img.revoked(), 1) }

// Take takes the lock for the agent, waiting at most for the time given. The only error is
// ErrHolder; the lock stays revoked then.
func (img *Image) Take(patience time.Duration) (Taken, error) {
	img.Revoke()
	me := holderWord(abi.RoleAgent, img.Owner(abi.RoleAgent).Pid)
	if img.takeWithin(me, patience) {
		img.count(abi.LockTaken, 1)
		return TakenFree, nil
	}
	holder := atomic.LoadUint64(img.holder())
	if img.holderDead(holder) && atomic.CompareAndSwapUint64(img.holder(), holder, me) {
		img.count(abi.LockBroken, 1)
		return TakenBroken, nil
	}
	img.count(abi.LockTimeouts, 1)
	return 0, ErrHolder
}

// takeWithin spins, then sleeps until the holder leaves or the time is over.
func (img *Image) takeWithin(me uint64, patience time.Duration) bool {
	start := time.Now()
	for {
		for range lockSpins {
			if atomic.LoadUint64(img.holder()) == 0 && atomic.CompareAndSwapUint64(img.holder(), 0, me) {
				return true
			}
		}
		waited := time.Since(start)
		if waited >= patience {
			return false
		}
		if waited >= spinForLock {
			img.sleepForLock(patience - waited)
		}
	}
}

func (img *Image) sleepForLock(timeout time.Duration) {
	atomic.StoreUint32(img.wanted(), 1)
	if atomic.LoadUint64(img.holder()) != 0 {
		futexSleep(img.wanted(), 1, timeout)
	}
	atomic.StoreUint32(img.wanted(), 0)
}

// holderDead reports whether the holder surely died. A former agent is dead, since a node has one
// agent.
func (img *Image) holderDead(holder uint64) bool {
	pid := uint32(holder)
	switch uint32(holder >> 32) {
	case abi.RoleProcess:
		owner := img.Owner(abi.RoleProcess)
		return owner.Pid == pid && owner.Dead()
	case abi.RoleAgent:
		return pid != img.Owner(abi.RoleAgent).Pid
	default:
		return false
	}
}

// AllowDriving lets the process drive again.
func (img *Image) AllowDriving() {
	atomic.StoreUint32(img.revoked(), 0)
	img.unlock()
}

// Restore takes the revoke flag back after Take failed or was not called.
func (img *Image) Restore() { atomic.StoreUint32(img.revoked(), 0) }
