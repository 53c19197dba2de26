package realtime

import (
	"errors"
	"fmt"
	"runtime"
	"score/tests/await"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// policyOf is the scheduling policy of a thread.
func policyOf(t *testing.T, tid int) uint32 {
	t.Helper()
	attr, err := unix.SchedGetAttr(tid, 0)
	if err != nil {
		t.Fatal(err)
	}
	return attr.Policy
}

// awaitPolicy waits until a thread has it.
func awaitPolicy(t *testing.T, tid int, policy uint32) {
	t.Helper()
	await.That(t, fmt.Sprintf("thread %d has policy %d", tid, policy), func() bool { return policyOf(t, tid) == policy })
}

// maxSpin bounds how long a failure of this test takes all processors.
const maxSpin = 5 * time.Second

// spinner is a real-time thread that computes without a pause until it is told to stop.
type spinner struct {
	tid  int
	used time.Duration // with the real-time policy
}

// Real-time loops that go wrong on all processors cost a slice or two, and not the host: they
// become ordinary threads, which is told, and have their priority again when they are calm.
func TestAThreadThatSpinsIsLowered(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	var mu sync.Mutex
	var told []string
	guard := NewGuard(func(sentence string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, sentence)
	})
	defer guard.Close()
	quit := make(chan struct{})
	var ended sync.WaitGroup
	defer ended.Wait()
	defer close(quit)
	threads := make(chan spinner)
	// Go's scheduler needs a processor for the guard beside those that spin, as an agent's has.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2*runtime.NumCPU() + 2))
	count := runtime.NumCPU()
	refused := make(chan error, count)
	for range count {
		ended.Go(func() {
			runtime.LockOSThread()
			if err := guard.SetFIFO("the loop", 1); err != nil {
				refused <- err
				return
			}
			began, tid := Now(), unix.Gettid()
			before, _ := threadTime(tid)
			for lowered := false; !lowered && time.Duration(Now()-began) < maxSpin; {
				attr, err := unix.SchedGetAttr(0, 0)
				lowered = err == nil && attr.Policy == unix.SCHED_NORMAL
			}
			after, _ := threadTime(tid)
			threads <- spinner{tid, after - before}
			<-quit
		})
	}
	var all []spinner
	for range count {
		select {
		case err := <-refused:
			if errors.Is(err, ErrNotPermitted) {
				t.Skip(err)
			}
			t.Fatal(err)
		case s := <-threads:
			all = append(all, s)
		}
	}
	for _, s := range all {
		// The kernel keeps a twentieth for ordinary threads, the guard among them.
		if s.used > 20*guardPeriod {
			t.Errorf("thread %d has used %v of a processor before", s.tid, s.used)
		}
	}
	for _, s := range all {
		awaitPolicy(t, s.tid, unix.SCHED_FIFO)
	}
	mu.Lock()
	defer mu.Unlock()
	lowered := 0
	for _, sentence := range told {
		if strings.Contains(sentence, "the loop has used a processor for") {
			lowered++
		}
	}
	if lowered < count {
		t.Errorf("told: %q", told)
	}
}

func TestGuardUpdate(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	self := unix.Gettid()
	for _, used := range []time.Duration{0, guardPeriod / 2} {
		g := guarded{name: "it", tid: self, priority: 1}
		if text := g.update(used, guardPeriod); text != "" || g.lowered {
			t.Errorf("%v of %v: %q", used, guardPeriod, text)
		}
	}
	g := guarded{name: "it", tid: self, priority: 1, lowered: true, calm: calmPeriods - 1}
	if text := g.update(guardPeriod/2, guardPeriod); text != "" || g.calm != 0 {
		t.Errorf("a thread that is not calm: %q, %d", text, g.calm)
	}
}
