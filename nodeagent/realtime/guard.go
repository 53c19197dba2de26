package realtime

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// guardPeriod is how long a real-time thread may use a processor without a pause: a usual
	// slice. Real work takes a fiftieth of that.
	guardPeriod = 100 * time.Millisecond
	// maxGuardUse is the use of a period, in percent, above which the thread counts as running
	// without a pause.
	maxGuardUse = 80
	// guardCalm is the use, in percent, below which a thread counts as calm again, and calmPeriods
	// the number of consecutive calm periods after which it gets its priority back.
	guardCalm   = 20
	calmPeriods = 20
)

// Guard bounds the CPU time of this process's real-time threads: a thread that uses a processor
// without a pause becomes an ordinary thread until it is calm again. So an endless loop costs a
// slice and not the host. The guard itself is no real-time thread: if such threads occupy all
// processors, it uses the share that the kernel reserves for ordinary threads (5 % by default). It
// also restores the timer slack of threads that inherited it from Go's monitor (CalmMonitor).
type Guard struct {
	log  func(sentence string)
	stop chan struct{}
	done chan struct{}

	mu        sync.Mutex
	threads   []*guarded
	inherited inherited // the goroutine's
}

// guarded is one watched thread. All fields except the first three belong to the guard's goroutine.
type guarded struct {
	name     string
	tid      int
	priority int

	used    time.Duration // up to checked
	checked int64         // as Now
	lowered bool
	calm    int // consecutive calm periods while it is lowered
}

// NewGuard starts a Guard; Close stops it. log gets a sentence whenever a thread is lowered or
// raised again.
func NewGuard(log func(sentence string)) *Guard {
	g := &Guard{log: log, stop: make(chan struct{}), done: make(chan struct{})}
	go g.run()
	return g
}

// Close stops the Guard. The threads keep their present policy.
func (g *Guard) Close() {
	close(g.stop)
	<-g.done
}

// SetFIFO calls the function SetFIFO for the calling thread, which must be locked, and watches the
// thread from now on.
func (g *Guard) SetFIFO(name string, priority int) error {
	if err := SetFIFO(priority); err != nil {
		return err
	}
	t := &guarded{name: name, tid: unix.Gettid(), priority: priority, checked: Now()}
	used, err := threadTime(t.tid)
	if err != nil {
		return err
	}
	t.used = used
	g.mu.Lock()
	defer g.mu.Unlock()
	g.threads = append(g.threads, t)
	return nil
}

func (g *Guard) run() {
	defer close(g.done)
	timer := time.NewTimer(UntilNext(guardPeriod))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			g.check()
			g.inherited.correct()
			timer.Reset(UntilNext(guardPeriod))
		case <-g.stop:
			return
		}
	}
}

// check judges all threads, and forgets those that have ended.
func (g *Guard) check() {
	g.mu.Lock()
	defer g.mu.Unlock()
	kept := g.threads[:0]
	for _, t := range g.threads {
		used, err := threadTime(t.tid)
		if err != nil {
			continue // it has ended
		}
		kept = append(kept, t)
		now := Now()
		part, elapsed := used-t.used, time.Duration(now-t.checked)
		if elapsed < guardPeriod/2 {
			continue // the time is too short to judge
		}
		t.used, t.checked = used, now
		if sentence := t.update(part, elapsed); sentence != "" {
			g.log(sentence)
		}
	}
	clear(g.threads[len(kept):])
	g.threads = kept
}

// update lowers or raises the thread by its use of the time since the last check, and returns a
// sentence about a change.
func (t *guarded) update(used, elapsed time.Duration) string {
	percent := int(100 * used / elapsed)
	switch {
	case !t.lowered && percent >= maxGuardUse:
		t.lowered, t.calm = true, 0
		if err := SetThreadNormal(t.tid); err != nil {
			t.lowered = false
			return fmt.Sprintf("%s keeps a processor, and cannot be stopped from that: %v", t.name, err)
		}
		return fmt.Sprintf("%s has used a processor for %v without a pause; it goes on without real-time priority until it is calm",
			t.name, elapsed.Round(time.Millisecond))
	case !t.lowered:
		return ""
	case percent > guardCalm:
		t.calm = 0
		return ""
	}
	if t.calm++; t.calm < calmPeriods {
		return ""
	}
	t.calm = 0
	if err := SetThreadFIFO(t.tid, t.priority); err != nil {
		return "" // it is asked again after as long
	}
	t.lowered = false
	return t.name + " is calm, and has real-time priority again"
}

// threadTime returns the CPU time that a thread of this process has used.
func threadTime(tid int) (time.Duration, error) {
	// The CPU clock of a thread, by its number; linux/posix-timers.h.
	const perThread, scheduled = 4, 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^tid<<3|perThread|scheduled), &ts); err != nil {
		return 0, fmt.Errorf("the clock of thread %d: %w", tid, err)
	}
	return time.Duration(ts.Nano()), nil
}
