package channels

import (
	"score/channels/abi"
	"score/channels/release"
	"score/flowctl"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// What drivers leave for each other in the line of the driver lock.

// Drives counts the sections of the process: a process that polls moves it.
func (img *Image) Drives() uint32 { return atomic.LoadUint32(img.drives()) }

func (img *Image) drives() *uint32 { return img.mem.u32(img.layout.Lock + abi.LockDrivesAt) }

// Follow notes the role of the driver whose section begins, counts it if it is the
// process's, and reports whether the last section was of another one.
func (img *Image) Follow(role uint32) (changed bool) {
	word := img.mem.u64(img.layout.Lock + abi.LockLastAt) // role below, count above: one store for both
	old := atomic.LoadUint64(word)
	count := old >> 32
	if role == abi.RoleProcess {
		count++
	}
	release.Store64(word, uint64(role)|count<<32)
	return uint32(old) != role
}

// Due returns when the protocol wants to be driven next, by Nanos, as the last driver
// left it.
func (img *Image) Due() int64 { return int64(atomic.LoadUint64(img.due())) }

// SetDue records when to drive next.
func (img *Image) SetDue(at int64) { release.Store64(img.due(), uint64(at)) }

func (img *Image) due() *uint64 { return img.mem.u64(img.layout.Lock + abi.LockDueAt) }

// Away reports whether the context is not resident on its channel.
func (img *Image) Away() bool { return atomic.LoadUint32(img.away()) != 0 }

// SetAway notes whether the context is resident.
func (img *Image) SetAway(away bool) {
	value := uint32(0)
	if away {
		value = 1
	}
	atomic.StoreUint32(img.away(), value)
}

func (img *Image) away() *uint32 { return img.mem.u32(img.layout.Lock + abi.LockAwayAt) }

// Accepting is a frame that an agent was about to accept. Counting the frame as accepted
// and putting it into the inbox are two steps; an agent that was killed between them leaves
// this note, from which the next one sees how far it came.
type Accepting struct {
	Rank uint32
	Seq  flowctl.Seq
	Tail uint64 // Delivery.Tail before
	Got  uint32 // Delivery.Got before
}

// NoteAccepting writes the note.
func (img *Image) NoteAccepting(a Accepting) {
	at := img.layout.Lock
	atomic.StoreUint32(img.mem.u32(at+abi.LockSeqAt), uint32(a.Seq))
	atomic.StoreUint32(img.mem.u32(at+abi.LockGotAt), a.Got)
	atomic.StoreUint64(img.mem.u64(at+abi.LockTailAt), a.Tail)
	atomic.StoreUint32(img.mem.u32(at+abi.LockPeerAt), a.Rank+1)
}

// Accepted erases the note.
func (img *Image) Accepted() { atomic.StoreUint32(img.mem.u32(img.layout.Lock+abi.LockPeerAt), 0) }

// Accepting returns the note, if there is one.
func (img *Image) Accepting() (a Accepting, ok bool) {
	at := img.layout.Lock
	rank := atomic.LoadUint32(img.mem.u32(at + abi.LockPeerAt))
	return Accepting{
		Rank: rank - 1,
		Seq:  flowctl.Seq(atomic.LoadUint32(img.mem.u32(at + abi.LockSeqAt))),
		Got:  atomic.LoadUint32(img.mem.u32(at + abi.LockGotAt)),
		Tail: atomic.LoadUint64(img.mem.u64(at + abi.LockTailAt)),
	}, rank != 0
}

// Extra returns the places of the network lane that are reserved for ranks of other nodes, less the
// first credits of all these ranks, modulo 2^32, as the last driver left it.
func (img *Image) Extra() uint32 { return atomic.LoadUint32(img.extra()) }

// SetExtra records the reserved places.
func (img *Image) SetExtra(places uint32) { atomic.StoreUint32(img.extra(), places) }

func (img *Image) extra() *uint32 { return img.mem.u32(img.layout.Lock + abi.LockExtraAt) }

// Located counts the answers about where peers are, whichever driver took them.
func (img *Image) Located() uint32 { return atomic.LoadUint32(img.located()) }

// NoteLocated counts an answer.
func (img *Image) NoteLocated() { atomic.AddUint32(img.located(), 1) }

func (img *Image) located() *uint32 { return img.mem.u32(img.layout.Lock + abi.LockLocatedAt) }

// epoch relates this process's monotonic clock to the host's.
var epochTime, epochNanos = epoch()

func epoch() (time.Time, int64) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return time.Now(), 1 // it exists on every Linux
	}
	return time.Now(), ts.Nano()
}

// Nanos is CLOCK_MONOTONIC, the same for all processes of the host.
func Nanos() int64 { return epochNanos + int64(time.Since(epochTime)) }
