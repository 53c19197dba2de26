package switcher

import (
	"context"
	"errors"
	"score/ctxswitch"
	"score/nodeagent/realtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const timeout = 60 * time.Second

// cell is a container that only remembers.
type cell struct {
	mu      sync.Mutex
	frozen  bool
	stuck   bool // does not freeze
	broken  error
	threads time.Duration // what the threads take to stop; the order takes a quarter of it
	stops   int64         // the instant of the last order to stop
	goes    int64         // and to continue
	used    time.Duration // by the threads
	// orderedOn is where the thread might run that gave the last order to stop.
	orderedOn unix.CPUSet
	log       []string
	read      int // as much of log as until has passed
	changed   chan struct{}
}

func newCell() *cell { return &cell{changed: make(chan struct{}, 1024)} }

func (c *cell) note(what string) {
	c.log = append(c.log, what)
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

func (c *cell) Freeze() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note("freeze")
	c.frozen = true
	c.stops = realtime.Now()
	_ = unix.SchedGetaffinity(0, &c.orderedOn)
	time.Sleep(c.threads / 4)
	return c.broken
}

func (c *cell) CPUTime() (time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used, nil
}

func (c *cell) WaitFrozen(deadline time.Time) error {
	c.mu.Lock()
	stuck := c.stuck
	c.used += c.threads
	c.mu.Unlock()
	if stuck {
		time.Sleep(time.Until(deadline))
		return errors.New("not frozen")
	}
	return c.broken
}

func (c *cell) Thaw() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note("thaw")
	c.frozen = false
	c.goes = realtime.Now()
	return c.broken
}

func (c *cell) launch() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note("launch")
	return nil
}

func (c *cell) set(f func(*cell)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c)
}

// until waits for a word after those that earlier calls have passed. The thread
// does not wait for the test, which sees some words long after they were said.
func (c *cell) until(t *testing.T, word string) {
	t.Helper()
	c.await(t, word, func() bool {
		for c.read < len(c.log) {
			c.read++
			if c.log[c.read-1] == word {
				return true
			}
		}
		return false
	})
}

// stays waits until a word is the last one, for what then does not change.
func (c *cell) stays(t *testing.T, word string) {
	t.Helper()
	c.await(t, word, func() bool { return len(c.log) > 0 && c.log[len(c.log)-1] == word })
}

// markSeen passes all that has been said.
func (c *cell) markSeen() { c.set(func(c *cell) { c.read = len(c.log) }) }

func (c *cell) await(t *testing.T, word string, said func() bool) {
	t.Helper()
	limit := time.After(timeout)
	for {
		c.mu.Lock()
		ok, log := said(), len(c.log)
		c.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-c.changed:
		case <-limit:
			t.Fatalf("the container was told %d words, and no %s", log, word)
		}
	}
}

func (c *cell) count(word string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, w := range c.log {
		if w == word {
			n++
		}
	}
	return n
}

func start(t testing.TB) *Switcher {
	t.Helper()
	s, err := New(Options{Raise: func() error { return realtime.SetFIFO(realtime.SwitchPriority) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { s.Run(ctx) })
	t.Cleanup(func() { cancel(); ended.Wait() })
	s.Offset(1, 0) // cluster time is the local clock
	return s
}

func (c *cell) job(id ctxswitch.JobID) Job {
	return Job{ID: id, Container: c, Launch: c.launch}
}

func plan(version uint64, slice time.Duration, rows ...[]ctxswitch.JobID) *ctxswitch.Plan {
	p := &ctxswitch.Plan{Term: 1, Version: version, Origin: realtime.Now()}
	for i, jobs := range rows {
		p.Rows = append(p.Rows, ctxswitch.Row{Index: i, Slice: slice, Jobs: jobs})
	}
	return p
}

// takeTurns has two jobs run, each in a row of its own.
func takeTurns(t *testing.T, s *Switcher, slice time.Duration, a, b *cell) {
	t.Helper()
	s.Add(a.job(1))
	s.Add(b.job(2))
	s.Plan(plan(1, slice, []ctxswitch.JobID{1}, []ctxswitch.JobID{2}))
	a.until(t, "launch") // before b's or after it
	s.Launched(1)
	b.until(t, "launch")
	s.Launched(2)
}

func TestTwoJobsTakeTurns(t *testing.T) {
	s := start(t)
	a, b := newCell(), newCell()
	takeTurns(t, s, 2*time.Millisecond, a, b)
	for range 3 {
		b.until(t, "freeze")
		a.until(t, "thaw")
		a.until(t, "freeze")
		b.until(t, "thaw")
	}
	usage := <-s.Remove(1)
	if usage.Slices < 4 || usage.Ran <= 0 {
		t.Errorf("usage %+v", usage)
	}
	b.stays(t, "thaw") // alone now
	if n := a.count("launch"); n != 1 {
		t.Errorf("launched %d times", n)
	}
}

func TestLoneJobIsNotTouched(t *testing.T) {
	s := start(t)
	a := newCell()
	h := s.Add(a.job(1))
	if h.On() {
		t.Error("on before its launch")
	}
	s.Plan(plan(1, time.Millisecond, []ctxswitch.JobID{1}))
	a.until(t, "launch")
	s.Launched(1)
	<-s.Remove(99)                    // all has been read
	time.Sleep(20 * time.Millisecond) // many slices
	if n := a.count("freeze"); n != 0 {
		t.Errorf("a lone job was frozen %d times", n)
	}
	if !h.On() {
		t.Error("not on")
	}
	if u := <-s.Remove(1); u.Ran < 20*time.Millisecond {
		t.Errorf("ran %v", u.Ran)
	}
}

func TestOldTermIsIgnored(t *testing.T) {
	s := start(t)
	a := newCell()
	s.Add(a.job(1))
	fresh := plan(1, time.Millisecond, []ctxswitch.JobID{1})
	fresh.Term = 2
	s.Offset(2, 0)
	s.Plan(fresh)
	a.until(t, "launch")
	s.Launched(1)
	s.Plan(plan(9, time.Millisecond)) // of term 1: would stop the job
	<-s.Remove(99)                    // all has been read
	if n := a.count("freeze"); n != 0 {
		t.Error("a plan of an old term was obeyed")
	}
}

func TestWithdrawnJobIsStopped(t *testing.T) {
	s := start(t)
	a := newCell()
	h := s.Add(a.job(1))
	s.Plan(plan(1, time.Millisecond, []ctxswitch.JobID{1}))
	a.until(t, "launch")
	s.Launched(1)
	s.Plan(plan(2, time.Millisecond))
	a.until(t, "freeze")
	<-s.Remove(99)
	if h.On() {
		t.Error("still on")
	}
}

func TestTimeLimit(t *testing.T) {
	s := start(t)
	a, b := newCell(), newCell()
	limited := a.job(1)
	limited.TimeLimit, limited.NearLimit = 30*time.Millisecond, 10*time.Millisecond
	s.Add(limited)
	s.Add(b.job(2))
	begun := time.Now()
	s.Plan(plan(1, 5*time.Millisecond, []ctxswitch.JobID{1}, []ctxswitch.JobID{2}))
	if n := notice(t, s, NoticeTimeNear); n.Job != 1 {
		t.Errorf("notice %+v", n)
	}
	if took := time.Since(begun); took < limited.NearLimit {
		t.Errorf("time was nearly up after %v", took)
	}
	if n := notice(t, s, NoticeTimeUp); n.Job != 1 {
		t.Errorf("notice %+v", n)
	}
	// Usually twice that; not where the thread woke too late to stop it between.
	if took := time.Since(begun); took < limited.TimeLimit {
		t.Errorf("time was up after %v", took)
	}
}

func notice(t *testing.T, s *Switcher, kind NoticeKind) Notice {
	t.Helper()
	limit := time.After(timeout)
	for {
		select {
		case n := <-s.Notices():
			if n.Kind == kind {
				return n
			}
		case <-limit:
			t.Fatalf("no notice of kind %d", kind)
		}
	}
}

func TestStubbornJobDoesNotStopTheOther(t *testing.T) {
	s := start(t)
	a, b := newCell(), newCell()
	a.stuck = true
	takeTurns(t, s, 10*time.Millisecond, a, b)
	n := notice(t, s, NoticeWarn)
	if n.Job != 1 || n.Late < ctxswitch.WarnAfter {
		t.Errorf("notice %+v", n)
	}
	a.set(func(c *cell) { c.stuck = false })
	r := NewReport()
	if !s.Collect(t.Context(), r) || r.Late < uint64(n.Late) {
		t.Errorf("%d late freezes reported", r.Late)
	}
	if u := <-s.Remove(1); u.LateFreezes < uint64(n.Late) {
		t.Errorf("usage %+v", u)
	}
}

func TestBrokenContainerIsToldOnce(t *testing.T) {
	s := start(t)
	a, b := newCell(), newCell()
	a.broken = errors.New("no such group")
	takeTurns(t, s, 10*time.Millisecond, a, b)
	if n := notice(t, s, NoticeFailed); n.Job != 1 || n.Err == nil {
		t.Errorf("notice %+v", n)
	}
	b.until(t, "thaw") // goes on switching
	for {
		select {
		case n := <-s.Notices():
			if n.Kind == NoticeFailed {
				t.Error("told twice")
			}
			continue
		default:
		}
		break
	}
}

func TestLaunchFailureIsTold(t *testing.T) {
	s := start(t)
	a := newCell()
	failing := a.job(1)
	failing.Launch = func() error { return errors.New("steward is gone") }
	s.Add(failing)
	s.Plan(plan(1, time.Millisecond, []ctxswitch.JobID{1}))
	if n := notice(t, s, NoticeLaunchFailed); n.Job != 1 {
		t.Errorf("notice %+v", n)
	}
}

func TestReports(t *testing.T) {
	s := start(t)
	a, b := newCell(), newCell()
	if !s.Idle() {
		t.Error("not idle without jobs")
	}
	takeTurns(t, s, 2*time.Millisecond, a, b)
	for range 5 {
		a.until(t, "freeze")
		a.until(t, "thaw")
	}
	r := NewReport()
	var boundaries []Boundary
	switches, launches := uint64(0), uint64(0)
	for range 3 {
		a.markSeen()
		a.until(t, "freeze")
		a.until(t, "thaw")
		if s.Idle() {
			t.Error("idle with two jobs")
		}
		if !s.Collect(t.Context(), r) {
			t.Fatal("no report")
		}
		if r.Empty() {
			t.Error("empty report")
		}
		for _, b := range r.Boundaries {
			if b.Running < b.Planned || b.Version != 1 {
				t.Errorf("boundary %+v", b)
			}
			boundaries = append(boundaries, b)
		}
		for _, j := range r.Jobs {
			if j.ID != 1 && j.ID != 2 {
				t.Errorf("report of job %d", j.ID)
			}
		}
		switches, launches = switches+r.Switches, launches+r.Launches
	}
	if launches != 2 || switches < 10 {
		t.Errorf("%d launches, %d switches", launches, switches)
	}
	for i := 1; i < len(boundaries); i++ {
		if boundaries[i].Planned <= boundaries[i-1].Planned {
			t.Errorf("boundary %d is out of order", i)
		}
	}
	<-s.Remove(1)
	<-s.Remove(2)
	s.Collect(t.Context(), r)
	s.Collect(t.Context(), r)
	r.Missed = 0 // the plan goes on without jobs, and the thread may wake late
	if !r.Empty() || !s.Idle() {
		t.Errorf("something is left after the last job: %+v, idle %v", r, s.Idle())
	}
}

func TestEndedThreadAnswers(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := s.Remove(1)
	s.Run(ctx)
	<-before
	<-s.Remove(1)
	if s.Collect(t.Context(), NewReport()) {
		t.Error("a report of an ended thread")
	}
	s.Plan(plan(1, time.Millisecond))
}

// A job with so many threads that it takes long to stop them is stopped ahead of the boundary.
func TestCostlyStopsComeEarly(t *testing.T) {
	s := start(t)
	a, b := newCell(), newCell()
	a.threads = 4 * time.Millisecond
	takeTurns(t, s, 20*time.Millisecond, a, b)
	for end := time.Now().Add(timeout); ; {
		b.until(t, "thaw")
		ahead := time.Duration(b.lastGo() - a.lastStop())
		if ahead > 3*time.Millisecond && ahead < 15*time.Millisecond {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("stopped %v before the other job went", ahead)
		}
	}
	a.set(func(c *cell) { c.threads = 0 })
	for end := time.Now().Add(timeout); ; {
		b.until(t, "thaw")
		ahead := time.Duration(b.lastGo() - a.lastStop())
		if ahead >= 0 && ahead < time.Millisecond {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it has no threads any more, and is stopped %v before the other job goes", ahead)
		}
	}
}

func (c *cell) lastStop() (at int64) {
	c.set(func(c *cell) { at = c.stops })
	return at
}

func (c *cell) lastGo() (at int64) {
	c.set(func(c *cell) { at = c.goes })
	return at
}

// An order to stop that waits for others in the kernel makes no job costly.
func TestCostOfAStop(t *testing.T) {
	for _, c := range []struct{ took, used, cost time.Duration }{
		{time.Millisecond, 3 * time.Millisecond, 4 * time.Millisecond},
		{5 * time.Millisecond, 10 * time.Microsecond, 20 * time.Microsecond},
		{time.Millisecond, 60 * time.Millisecond, 9 * time.Millisecond}, // most of it before the order
		{slowOrder - 1, time.Second, 0},                                 // few threads, which had something to do before they stopped
	} {
		container := newCell()
		f := newFreezing(ctxswitch.Effect{}, newJob(container.job(1)), c.took)
		container.set(func(other *cell) { other.used += c.used })
		if got := f.cost(); got != c.cost {
			t.Errorf("an order of %v, %v used: %v, want %v", c.took, c.used, got, c.cost)
		}
	}
}

// Orders that take long are given on the job's own CPUs, and others where the thread usually is.
func TestCostlyOrdersUseTheJobsCPUs(t *testing.T) {
	var home, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &home); err != nil {
		t.Fatal(err)
	}
	if home.Count() < 2 {
		t.Skip("one CPU only")
	}
	cpu := 0
	for !home.IsSet(cpu) {
		cpu++
	}
	one.Set(cpu)
	s := start(t)
	a, b := newCell(), newCell()
	a.threads = 4 * time.Millisecond
	costly := a.job(1)
	costly.CPUs = []int{cpu}
	s.Add(costly)
	s.Add(b.job(2))
	s.Plan(plan(1, 20*time.Millisecond, []ctxswitch.JobID{1}, []ctxswitch.JobID{2}))
	a.until(t, "launch")
	s.Launched(1)
	b.until(t, "launch")
	s.Launched(2)
	a.markSeen()
	for range 3 {
		a.until(t, "freeze")
	}
	b.markSeen()
	b.until(t, "freeze")
	a.set(func(c *cell) {
		if c.orderedOn != one {
			t.Errorf("ordered on %d CPUs, want the job's", c.orderedOn.Count())
		}
	})
	b.set(func(c *cell) {
		if c.orderedOn != home {
			t.Errorf("another job was ordered to stop on %d CPUs, want %d", c.orderedOn.Count(), home.Count())
		}
	})
}
