package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

func TestProgressRoundTrip(t *testing.T) {
	var p progress
	ms := pause.Nanoseconds()
	for _, at := range []int64{5, 10, 10 + ms, 11 + ms, 11 + 5*ms} {
		p.ended(at)
	}
	var out strings.Builder
	if err := p.print(&out); err != nil {
		t.Fatal(err)
	}
	back, err := readProgress(strings.NewReader(out.String()))
	want := []span{{10, 10 + ms}, {11 + ms, 11 + 5*ms}}
	if err != nil || back.span != (span{5, 11 + 5*ms}) || !slices.Equal(back.gaps, want) {
		t.Errorf("%+v came back, %v", back, err)
	}
	if on := back.on(); math.Abs(on-6e-9) > 1e-12 {
		t.Errorf("on for %v s", on)
	}
}

func TestBadProgress(t *testing.T) {
	for _, text := range []string{"", "x 3\n", "3\n", "1 2\n3\n"} {
		if p, err := readProgress(strings.NewReader(text)); !errors.Is(err, errShortOutput) {
			t.Errorf("%q: %+v, %v", text, p, err)
		}
	}
}

// TestJobsInTurns: two jobs take turns, the first from 0 to 10 and from 22 on, the second from 12
// to 20 and from 31 on.
func TestJobsInTurns(t *testing.T) {
	us := func(n int64) int64 { return n * 1000 }
	first := progress{span: span{us(0), us(30)}, gaps: []span{{us(10), us(22)}}}
	second := progress{span: span{us(0), us(40)}, gaps: []span{{us(1), us(12)}, {us(20), us(31)}}}
	if got := between(first, second); !slices.Equal(got, []float64{2}) {
		t.Errorf("from the first to the second %v", got)
	}
	if got := between(second, first); !slices.Equal(got, []float64{2}) {
		t.Errorf("from the second to the first %v", got)
	}
	if got := between(first, progress{span: second.span}); got != nil {
		t.Errorf("no switch, and %v", got)
	}
}

func TestSideBySide(t *testing.T) {
	spans := make(chan span, 2)
	spans <- span{1e9, 3e9}
	spans <- span{2e9, 5e9}
	var came atomic.Int32
	got, err := sideBySide(func(gate string) (progress, error) {
		came.Add(1)
		if err := pass(gate); err != nil || came.Load() != 2 {
			return progress{}, fmt.Errorf("%d of two came to the gate before it opened: %w", came.Load(), err)
		}
		return progress{span: <-spans}, nil
	})
	if err != nil || got.seconds != 4 || got.on != 5 {
		t.Errorf("%+v, %v", got, err)
	}
}

// A program that ends early keeps no other at its gate.
func TestSideBySideOfAProgramThatFails(t *testing.T) {
	var first atomic.Bool
	_, err := sideBySide(func(gate string) (progress, error) {
		if first.CompareAndSwap(false, true) {
			return progress{}, errNaN
		}
		return progress{}, pass(gate)
	})
	if !errors.Is(err, errNaN) {
		t.Error(err)
	}
}

func TestNodesApart(t *testing.T) {
	if s, a := nodesApart(2); s != "n1,n3" || a != "n2,n4" {
		t.Errorf("of two CPUs %s and %s", s, a)
	}
	if s, a := nodesApart(8); s != "n1,n2" || a != "n3,n4" {
		t.Errorf("of eight CPUs %s and %s", s, a)
	}
}
