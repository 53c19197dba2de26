package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"score/channels"
	"score/pm"
	"strconv"
	"time"
)

// First arguments that make this program a rank of the netswitch group.
const (
	// roundRank exchanges a number with all others. The second argument is the number of rounds;
	// the third is how it waits.
	roundRank = "round-rank"
	// stepRank computes before each of the rounds; the third argument is the number of loops.
	stepRank = "step-rank"
)

// How a rank waits for a message.
const (
	waiting  = "wait" // as the library does: it spins, yields, then sleeps
	spinning = "spin" // it never gives its CPU away
)

// rounder exchanges numbers with all other ranks.
type rounder struct {
	c    *pm.Channel
	spin bool
	got  []uint64 // by rank: numbers that came
}

func newRounder(how string) (*rounder, error) {
	c, err := pm.Open(1)
	if err != nil {
		return nil, err
	}
	return &rounder{c: c, spin: how == spinning, got: make([]uint64, c.Size())}, nil
}

// round sends the number to all others, and returns when theirs have come.
func (r *rounder) round(number uint64) error {
	var data [8]byte
	binary.LittleEndian.PutUint64(data[:], number)
	for to := range r.c.Size() {
		if to == r.c.Rank() {
			continue
		}
		if err := sendPatiently(r.c, to, data[:]); err != nil {
			return err
		}
	}
	for from := range r.got {
		for from != r.c.Rank() && r.got[from] <= number {
			if err := r.take(); err != nil {
				return err
			}
		}
	}
	return nil
}

// take receives one number, which must be the next of its sender.
func (r *rounder) take() error {
	m, err := r.c.Receive()
	switch {
	case errors.Is(err, pm.ErrEmpty) && r.spin:
		return nil
	case errors.Is(err, pm.ErrEmpty):
		return r.c.Wait(context.Background())
	case err != nil:
		return err
	}
	data, err := m.Bytes()
	if err != nil {
		return err
	}
	if got := binary.LittleEndian.Uint64(data); got != r.got[m.Source()] {
		return fmt.Errorf("rank %d: %d came from rank %d for %d", r.c.Rank(), got, m.Source(), r.got[m.Source()])
	}
	r.got[m.Source()]++
	return r.c.ReleaseReceiveBuffer(m)
}

// span is an interval of time, in ns of the machine's clock.
type span struct{ from, to int64 }

func (s span) seconds() float64 { return float64(s.to-s.from) / 1e9 }

// progress is what a job tells of itself.
type progress struct {
	span        // of its work
	gaps []span // in which no round ended for as long as pause
}

// pause is longer than any round takes of a program that is on, and shorter than any slice.
const pause = time.Millisecond

// readProgress reads what a job has printed: a span in each line, the span of the work first.
func readProgress(out io.Reader) (p progress, err error) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var s span
		if _, err := fmt.Sscan(lines.Text(), &s.from, &s.to); err != nil {
			return p, fmt.Errorf("%w: %q", errShortOutput, lines.Text())
		}
		p.gaps = append(p.gaps, s)
	}
	if len(p.gaps) == 0 {
		return p, errShortOutput
	}
	p.span, p.gaps = p.gaps[0], p.gaps[1:]
	return p, nil
}

// rounds is a rank that communicates only. The first one prints from when to when.
func rounds(args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("how many rounds, and how to wait?")
	}
	return work(args[0], args[1], func() {}, out)
}

// steps is a rank that computes before each round.
func steps(args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("how many rounds, and how many loops?")
	}
	loops, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	return work(args[0], waiting, func() { compute(loops) }, out)
}

// work is timed from the first round on, when all ranks are there.
func work(rounds, how string, before func(), out io.Writer) error {
	n, err := strconv.ParseUint(rounds, 10, 64)
	if err != nil {
		return err
	}
	r, err := newRounder(how)
	if err != nil {
		return err
	}
	var p progress
	for i := range n + 1 {
		if err := r.round(i); err != nil {
			return err
		}
		if i == 0 && r.c.Rank() == 0 {
			if err := passGate(); err != nil {
				return err
			}
		}
		p.ended(channels.Nanos())
		if i < n {
			before()
		}
	}
	if r.c.Rank() == 0 {
		if err := p.print(out); err != nil {
			return err
		}
	}
	return r.c.Close()
}

// ended notes the end of a round.
func (p *progress) ended(now int64) {
	if p.from == 0 {
		p.from, p.to = now, now
	}
	if now-p.to >= pause.Nanoseconds() {
		p.gaps = append(p.gaps, span{p.to, now})
	}
	p.to = now
}

func (p *progress) print(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintln(w, p.from, p.to)
	for _, gap := range p.gaps {
		fmt.Fprintln(w, gap.from, gap.to)
	}
	return w.Flush()
}

// computed keeps the compiler from leaving the work out.
var computed uint64

func compute(loops int) {
	x := computed | 1
	for range loops {
		x = x*6364136223846793005 + 1442695040888963407
	}
	computed = x
}
