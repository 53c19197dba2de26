package pm

import (
	"os"
	"runtime"
	"score/channels"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// watcher wakes a sleeping rank when a datagram comes. The rank sleeps on a word of its
// context, where the ranks of its node wake it; a socket cannot be waited for there, so a thread
// waits for it, and only while the rank sleeps.
type watcher struct {
	img    *channels.Image
	socket int
	bulk   int // another socket to wait for, or -1; changed only while the watcher is not armed
	stop   int // eventfd
	begin  chan struct{}
	ended  chan struct{}
	spent  atomic.Bool
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

func watch(img *channels.Image, socket int) (*watcher, error) {
	needProcs()
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	w := &watcher{img: img, socket: socket, bulk: -1, stop: stop, begin: make(chan struct{}), ended: make(chan struct{})}
	w.run.Go(w.watch)
	return w, nil
}

// arm lets the watcher wait for the next datagram.
func (w *watcher) arm() {
	w.spent.Store(false)
	w.begin <- struct{}{}
}

// fired reports whether a datagram has come since the watcher was armed, or was there already. The
// watcher is then no longer armed.
func (w *watcher) fired() bool { return w.spent.Load() }

// disarm ends the wait.
func (w *watcher) disarm() {
	one := [8]byte{1}
	_, _ = unix.Write(w.stop, one[:]) // it cannot overflow
	<-w.ended
	_, _ = unix.Read(w.stop, one[:])
}

func (w *watcher) close() {
	close(w.begin)
	w.run.Wait()
	_ = unix.Close(w.stop)
}

func (w *watcher) watch() {
	all := [...]unix.PollFd{{Fd: int32(w.socket), Events: unix.POLLIN}, {Fd: int32(w.stop), Events: unix.POLLIN}, {Events: unix.POLLIN}}
	for range w.begin {
		fds := all[:2] // by which the agent knows the watcher of a rank that waits for messages alone
		if w.bulk >= 0 {
			fds = all[:]
		}
		all[2].Fd, all[2].Revents = int32(w.bulk), 0
		for {
			_, err := unix.Poll(fds, -1)
			if err != unix.EINTR {
				break
			}
		}
		if all[0].Revents != 0 || all[2].Revents != 0 {
			w.spent.Store(true)
			w.img.Wake()
		}
		w.ended <- struct{}{}
	}
}
