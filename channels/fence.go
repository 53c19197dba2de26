package channels

import (
	"score/channels/release"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A sender stores a message and then checks whether the receiver sleeps; a receiver announces that
// it sleeps and then polls for a message. One of them must see the other, which needs a fence
// between store and load on both sides. The sender cannot afford one (see release.Store64), so the
// receiver runs a fence on all processors on which a sender runs: membarrier(2), made for such
// pairs. A sender's process must have asked for that once; until it has, and where the kernel
// refuses, it fences by itself.

// cheap means that this process is registered, so its senders need no fence.
var cheap atomic.Bool

var registering sync.Once

// membarrier's commands, from linux/membarrier.h.
const (
	barrierGlobalExpedited         = 1 << 1
	barrierRegisterGlobalExpedited = 1 << 2
)

// SpeedUp makes sending cheaper for all of the process. It takes a few milliseconds once, which the
// end of the process waits for, and may run while messages are sent.
func SpeedUp() {
	registering.Do(func() {
		_, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, barrierRegisterGlobalExpedited, 0, 0)
		cheap.Store(errno == 0)
	})
}

// fenceAll makes what every registered process has stored visible here. It
// reports whether the kernel did it.
func fenceAll() bool {
	_, _, errno := unix.RawSyscall(unix.SYS_MEMBARRIER, barrierGlobalExpedited, 0, 0)
	return errno == 0
}

// publish stores v like release.Store64; a load that follows in the program is not done
// earlier, as far as a receiver that calls fenceAll can tell.
func publish(p *uint64, v uint64) {
	if cheap.Load() {
		release.Store64(p, v)
		return
	}
	atomic.StoreUint64(p, v)
}
