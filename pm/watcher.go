package pm

import (
	"os"
	"runtime"
	"score/channels"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// watcher wakes a sleeping rank when a datagram comes. The rank sleeps on a word of its context,
// where the ranks of its node wake it; a socket cannot be waited for there, so a thread waits for
// it. The thread goes on waiting when something else wakes the rank: to stop it after each sleep
// and to begin at the next one takes six switches between threads, which ranks that share a CPU pay
// with the time of their peers.
type watcher struct {
	img    *channels.Image
	socket int
	bulk   int // another socket to wait for, or -1
	stop   int // eventfd
	begin  chan int
	ended  chan struct{}
	armed  atomic.Bool // the thread waits, and has not seen a datagram
	busy   bool        // the thread has begun to wait, and its end was not taken from ended
	with   int         // the value of bulk when it began
	run    sync.WaitGroup
}

// watcherProcs is how many of Go's processors the rank and its watcher need. With one, as a rank on
// a CPU of its own has it, the watcher would begin to wait only when the runtime takes the
// processor from the sleeping rank, up to 10 ms later, and nobody would notice what comes before.
const watcherProcs = 2

// needProcs raises GOMAXPROCS to watcherProcs if it is lower.
func needProcs() {
	if runtime.GOMAXPROCS(0) < watcherProcs {
		runtime.GOMAXPROCS(watcherProcs)
	}
}

// exactSleep is the shortest sleep for which the watcher waits for exactly the sockets that matter,
// by which the agent knows the watcher of a rank that waits for messages alone. For shorter ones it
// may still wait for bulk datagrams that the rank does not expect any more.
const exactSleep = time.Millisecond

func watch(img *channels.Image, socket int) (*watcher, error) {
	needProcs()
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	w := &watcher{img: img, socket: socket, bulk: -1, stop: stop, begin: make(chan int, 1), ended: make(chan struct{}, 1)}
	w.run.Go(w.watch)
	return w, nil
}

// arm lets the watcher wait for the next datagram, before a sleep of at most the given time.
func (w *watcher) arm(timeout time.Duration) {
	if w.armed.Load() {
		if w.with == w.bulk || w.bulk < 0 && timeout < exactSleep {
			return
		}
		w.disarm()
	}
	if w.busy {
		<-w.ended
	}
	w.busy, w.with = true, w.bulk
	w.armed.Store(true)
	w.begin <- w.bulk
}

// fired reports whether a datagram has come since the watcher was armed, or was there already. The
// watcher is then no longer armed.
func (w *watcher) fired() bool { return !w.armed.Load() }

// disarm ends the wait of a watcher that was armed.
func (w *watcher) disarm() {
	one := [8]byte{1}
	_, _ = unix.Write(w.stop, one[:]) // it cannot overflow
	<-w.ended
	_, _ = unix.Read(w.stop, one[:]) // it takes what Write has put there
	w.busy = false
}

func (w *watcher) close() {
	if w.busy {
		w.disarm()
	}
	close(w.begin)
	w.run.Wait()
	_ = unix.Close(w.stop)
}

func (w *watcher) watch() {
	all := [...]unix.PollFd{{Fd: int32(w.socket), Events: unix.POLLIN}, {Fd: int32(w.stop), Events: unix.POLLIN}, {Events: unix.POLLIN}}
	for bulk := range w.begin {
		fds := all[:2] // by which the agent knows the watcher of a rank that waits for messages alone
		if bulk >= 0 {
			fds = all[:]
		}
		all[2].Fd, all[2].Revents = int32(bulk), 0
		for {
			_, err := unix.Poll(fds, -1)
			if err != unix.EINTR {
				break
			}
		}
		w.armed.Store(false)
		if all[0].Revents != 0 || all[2].Revents != 0 {
			w.img.Wake()
		}
		w.ended <- struct{}{}
	}
}
