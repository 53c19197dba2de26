package cgroup

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// A signal that comes while a limit is being set, as the runtime sends them to its
// threads, is not an error.
func TestLimitsAreSetInARainOfSignals(t *testing.T) {
	g := testGroup(t)
	if g.memory == MemoryNone {
		t.Skip("no memory controller here")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := unix.Gettid()
	var over atomic.Bool
	var rain sync.WaitGroup
	defer rain.Wait()
	defer over.Store(true)
	rain.Go(func() {
		for !over.Load() {
			// The runtime takes this one for a request to let others run.
			if err := unix.Tgkill(unix.Getpid(), thread, unix.SIGURG); err != nil && !errors.Is(err, unix.EAGAIN) {
				t.Error(err)
				return
			}
		}
	})
	for range 2000 {
		if err := g.LimitMemory(64 << 20); err != nil {
			t.Fatal(err)
		}
		if err := g.UnlimitMemory(); err != nil {
			t.Fatal(err)
		}
	}
}
