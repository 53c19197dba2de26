package loop

import (
	"sync"
	"testing"
	"time"
)

func testLoop(t *testing.T) *Loop {
	t.Helper()
	l, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func TestPostedRunsInOrderAndOnce(t *testing.T) {
	const posters, each = 8, 500
	l := testLoop(t)
	var wg sync.WaitGroup
	next := make([]int, posters)
	done := 0
	for p := range posters {
		wg.Go(func() {
			for i := range each {
				l.Post(func() {
					if next[p] != i {
						t.Errorf("poster %d: call %d came when %d was due", p, i, next[p])
					}
					next[p]++
					done++
				})
			}
		})
	}
	for deadline := time.Now().Add(time.Minute); done < posters*each; {
		events, err := l.Wait(deadline)
		if err != nil || len(events) == 0 {
			t.Fatalf("%d of %d ran (%v)", done, posters*each, err)
		}
		for i := range events {
			if TagOf(&events[i]).Kind == Wake {
				l.RunPosted()
			}
		}
	}
	wg.Wait()
}

func TestWhatIsPostedByAPostedCallRunsToo(t *testing.T) {
	l := testLoop(t)
	ran := false
	l.Post(func() { l.Post(func() { ran = true }) })
	for range 2 {
		if events, err := l.Wait(time.Now().Add(time.Minute)); err != nil || len(events) != 1 {
			t.Fatalf("%d events (%v)", len(events), err)
		}
		l.RunPosted()
	}
	if !ran {
		t.Error("it did not run")
	}
}

// A loop at work waits in the kernel, one that has rested in Go's poller: either hears what comes
// and what is due.
func TestALoopHearsWhereverItWaits(t *testing.T) {
	for _, rested := range []bool{false, true} {
		l := testLoop(t)
		came := false
		var poster sync.WaitGroup
		poster.Go(func() { l.Post(func() { came = true }) })
		for !came {
			l.rested = rested
			if events, err := l.Wait(time.Time{}); err != nil || len(events) != 1 {
				t.Fatalf("%d events, %v", len(events), err)
			}
			l.RunPosted()
		}
		poster.Wait()
		for _, wait := range []time.Duration{0, lingerMillis * time.Millisecond / 4, 4 * lingerMillis * time.Millisecond} {
			l.rested = rested
			due := time.Now().Add(wait)
			for time.Now().Before(due) {
				if events, err := l.Wait(due); err != nil || len(events) != 0 {
					t.Fatalf("%d events, %v", len(events), err)
				}
			}
		}
	}
}

func TestPostAfterCloseDoesNothing(t *testing.T) {
	l := testLoop(t)
	l.Close()
	l.Post(func() { t.Error("ran") })
	l.Close()
}

func TestDeadline(t *testing.T) {
	l := testLoop(t)
	deadline := time.Now().Add(3 * time.Millisecond)
	events, err := l.Wait(deadline)
	if err != nil || len(events) != 0 || time.Now().Before(deadline) {
		t.Errorf("%d events (%v), %v before the deadline", len(events), err, time.Until(deadline))
	}
	// A deadline that has passed is none for what has happened already.
	l.Post(func() {})
	if events, err := l.Wait(deadline); err != nil || len(events) != 1 {
		t.Errorf("%d events (%v)", len(events), err)
	}
	l.RunPosted()
	l.Post(func() {})
	if events, err := l.Wait(time.Time{}); err != nil || len(events) != 1 {
		t.Errorf("%d events (%v)", len(events), err)
	}
}
