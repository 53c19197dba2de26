package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// figure is one measured value beside its peer and its target.
type figure struct {
	name   string
	value  float64
	unit   string
	peer   float64 // NaN: none
	ratio  float64 // NaN: none
	target target
}

// target is a condition on the value, the ratio, or the difference to the peer.
type target struct {
	of  string // "value", "ratio", "diff", or "" for none
	max float64
	min float64 // used when most is NaN
}

func noTarget() target                   { return target{} }
func atMost(of string, x float64) target { return target{of: of, max: x, min: math.NaN()} }
func atLeast(of string, x float64) target {
	return target{of: of, max: math.NaN(), min: x}
}

func (t target) String() string {
	switch {
	case t.of == "":
		return "none"
	case math.IsNaN(t.max):
		return t.of + ">=" + short(t.min)
	default:
		return t.of + "<=" + short(t.max)
	}
}

// met reports whether the figure keeps its target.
func (f figure) met() bool {
	var x float64
	switch f.target.of {
	case "":
		return true
	case "value":
		x = f.value
	case "ratio":
		x = f.ratio
	case "diff":
		x = f.value - f.peer
	default:
		return false
	}
	if math.IsNaN(f.target.max) {
		return x >= f.target.min
	}
	return x <= f.target.max
}

func (f figure) String() string {
	verdict := "ok"
	if !f.met() {
		verdict = "short"
	}
	return fmt.Sprintf("figure %s %s %s peer=%s ratio=%s target=%s %s",
		f.name, short(f.value), f.unit, short(f.peer), short(f.ratio), f.target, verdict)
}

// short prints four significant digits, and "-" for what was not measured.
func short(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// report prints figures and counts those that fall short.
type report struct {
	out          io.Writer
	count, short int
}

func (r *report) add(f figure) {
	r.count++
	if !f.met() {
		r.short++
	}
	fmt.Fprintln(r.out, f)
}

// single reports a value that has no peer.
func (r *report) single(name string, value float64, unit string, t target) {
	r.add(figure{name: name, value: value, unit: unit, peer: math.NaN(), ratio: math.NaN(), target: t})
}

// pair reports alternating runs of ours and a peer's.
func (r *report) pair(name string, ours, peers []float64, unit string, t target) {
	n := min(len(ours), len(peers))
	ratios := make([]float64, n)
	for i := range ratios {
		ratios[i] = ours[i] / peers[i]
	}
	r.add(figure{name: name, value: median(ours), unit: unit, peer: median(peers), ratio: median(ratios), target: t})
}

// note prints a line for people.
func (r *report) note(format string, args ...any) {
	fmt.Fprintf(r.out, "# "+format+"\n", args...)
}

// pairWithSpread reports a pair, and from where to where its ratios lie.
func (r *report) pairWithSpread(name string, ours, peers []float64, unit string, t target) {
	r.pair(name, ours, peers, unit, t)
	ratios := make([]float64, min(len(ours), len(peers)))
	for i := range ratios {
		ratios[i] = ours[i] / peers[i]
	}
	r.note("%s: ratios of %d runs from %s to %s", name, len(ratios), short(slices.Min(ratios)), short(slices.Max(ratios)))
}

// median of no values is NaN.
func median(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(xs))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// quantile of no values is NaN.
func quantile(xs []float64, q float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(xs))
	return s[min(int(q*float64(len(s))), len(s)-1)]
}
