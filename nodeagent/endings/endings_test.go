package endings

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The users of jobs.
const (
	ada uint32 = 1000 + iota
	eve
)

var errGone = errors.New("gone")

// A job that the leader forgets before it begins does not wait for its own end, but for its former
// run's.
func TestJobDoesNotAwaitItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l List
		own, former := make(chan struct{}), make(chan struct{})
		l.Add(7, ada, own)
		begin := time.Now()
		if err := l.Await(t.Context(), 7, ada, own); err != nil || time.Since(begin) != 0 {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		l.Add(7, ada, former)
		time.AfterFunc(time.Second, func() { close(former) })
		if err := l.Await(t.Context(), 7, ada, own); err != nil || time.Since(begin) != time.Second {
			t.Errorf("beside its former run, after %v: %v", time.Since(begin), err)
		}
	})
}

// New jobs wait for the processes of ended ones, but not for those that never end.
func TestEndingsThatDoNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l List
		stuck := make(chan struct{})
		l.Add(7, ada, stuck)
		begin := time.Now()
		for range 3 {
			if err := l.Await(t.Context(), 8, ada, nil); err != nil {
				t.Error(err)
			}
		}
		if waited := time.Since(begin); waited != othersTimeout {
			t.Errorf("three new jobs have waited %v", waited)
		}
		time.Sleep(time.Nanosecond)
		if !strings.Contains(l.Problem(), "[7]") {
			t.Errorf("trouble: %q", l.Problem())
		}
		begin = time.Now()
		if err := l.Await(t.Context(), 7, ada, nil); !errors.Is(err, ErrStuck) || time.Since(begin) != ownTimeout {
			t.Errorf("the same job again after %v: %v", time.Since(begin), err)
		}
		soon := make(chan struct{})
		l.Add(9, ada, soon)
		time.AfterFunc(time.Second, func() { close(soon) })
		begin = time.Now()
		if err := l.Await(t.Context(), 8, ada, nil); err != nil || time.Since(begin) != time.Second {
			t.Errorf("beside one that ends in a second: %v, %v", err, time.Since(begin))
		}
		close(stuck)
		if text := l.Problem(); text != "" {
			t.Errorf("when all is over: %q", text)
		}
	})
}

// A user whose jobs do not end here begins no more of them, and others do.
func TestManyEndingsOfAUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l List
		for id := range uint64(maxLate) {
			l.Add(100+id, eve, make(chan struct{}))
		}
		if err := l.Await(t.Context(), 8, eve, nil); err != nil {
			t.Error(err)
		}
		last := make(chan struct{})
		l.Add(99, eve, last)
		if err := l.Await(t.Context(), 8, eve, nil); !errors.Is(err, ErrStuckOfUser) {
			t.Error(err)
		}
		if err := l.Await(t.Context(), 9, ada, nil); err != nil {
			t.Error(err)
		}
		close(last)
		if err := l.Await(t.Context(), 8, eve, nil); err != nil {
			t.Errorf("after one has ended: %v", err)
		}
	})
}

// There is an end to that: a node on which nothing ends takes no more.
func TestManyEndingsThatDoNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l List
		for id := range uint64(maxLateOfAll) {
			l.Add(100+id, 2000+uint32(id), make(chan struct{}))
		}
		if err := l.Await(t.Context(), 8, ada, nil); err != nil {
			t.Error(err)
		}
		l.Add(99, ada, make(chan struct{}))
		if err := l.Await(t.Context(), 8, ada, nil); !errors.Is(err, ErrStuck) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errGone)
		l.Add(98, ada, make(chan struct{}))
		if err := l.Await(ctx, 98, ada, nil); !errors.Is(err, errGone) {
			t.Error(err)
		}
	})
}
