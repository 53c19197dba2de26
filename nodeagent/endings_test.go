package nodeagent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// New jobs wait for the processes of ended ones, but not for those that never end.
func TestEndingsThatDoNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e endings
		stuck := make(chan struct{})
		e.add(7, stuck)
		begin := time.Now()
		for range 3 {
			if err := e.await(t.Context(), 8); err != nil {
				t.Error(err)
			}
		}
		if waited := time.Since(begin); waited != endingsPatience {
			t.Errorf("three new jobs have waited %v", waited)
		}
		time.Sleep(time.Nanosecond)
		if !strings.Contains(e.trouble(), "[7]") {
			t.Errorf("trouble: %q", e.trouble())
		}
		begin = time.Now()
		if err := e.await(t.Context(), 7); !errors.Is(err, errEndings) || time.Since(begin) != ownEndingPatience {
			t.Errorf("the same job again after %v: %v", time.Since(begin), err)
		}
		soon := make(chan struct{})
		e.add(9, soon)
		time.AfterFunc(time.Second, func() { close(soon) })
		begin = time.Now()
		if err := e.await(t.Context(), 8); err != nil || time.Since(begin) != time.Second {
			t.Errorf("beside one that ends in a second: %v, %v", err, time.Since(begin))
		}
		close(stuck)
		if text := e.trouble(); text != "" {
			t.Errorf("when all is over: %q", text)
		}
	})
}

// There is an end to that: a node on which nothing ends takes no more.
func TestManyEndingsThatDoNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e endings
		for id := range uint64(endingsMost) {
			e.add(100+id, make(chan struct{}))
		}
		if err := e.await(t.Context(), 8); err != nil {
			t.Error(err)
		}
		e.add(99, make(chan struct{}))
		if err := e.await(t.Context(), 8); !errors.Is(err, errEndings) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errKilled)
		e.add(98, make(chan struct{}))
		if err := e.await(ctx, 98); !errors.Is(err, errKilled) {
			t.Error(err)
		}
	})
}
