package messages

import (
	"errors"
	"fmt"
	"strings"
)

// Curve is what one run of a program measured, in nanoseconds by size.
type Curve struct {
	Latency   map[int]float64 // one way
	Stream    map[int]float64 // per message
	Allreduce float64         // of 8 bytes, where it was asked for
}

func newCurve() Curve { return Curve{Latency: map[int]float64{}, Stream: map[int]float64{}} }

// Rate is in millions of messages a second.
func (c Curve) Rate(size int) float64 { return 1e3 / c.Stream[size] }

// Bandwidth is in 10^9 bytes a second.
func (c Curve) Bandwidth(size int) float64 { return float64(size) / c.Stream[size] }

// What the lines of a measuring program begin with; size and nanoseconds follow.
const (
	lineLatency   = "lat"
	lineStream    = "bw"
	lineAllreduce = "allreduce"
)

var errOutput = errors.New("a measuring program printed what it should not")

// keepMin keeps the least of several measurements of the same: a plan names a size as often as it
// is to be measured, and what disturbs a measurement only makes it longer.
func keepMin(all map[int]float64, size int, ns float64) {
	if old, ok := all[size]; !ok || ns < old {
		all[size] = ns
	}
}

// ParseCurve reads what a measuring program printed.
func ParseCurve(out string) (Curve, error) {
	c := newCurve()
	for line := range strings.Lines(out) {
		var kind string
		var size int
		var ns float64
		if _, err := fmt.Sscan(line, &kind, &size, &ns); err != nil || ns <= 0 {
			return c, fmt.Errorf("%w: %q", errOutput, line)
		}
		switch kind {
		case lineLatency:
			keepMin(c.Latency, size, ns)
		case lineStream:
			keepMin(c.Stream, size, ns)
		case lineAllreduce:
			if c.Allreduce == 0 || ns < c.Allreduce {
				c.Allreduce = ns
			}
		default:
			return c, fmt.Errorf("%w: %q", errOutput, line)
		}
	}
	if len(c.Latency) == 0 {
		return c, fmt.Errorf("%w: nothing", errOutput)
	}
	return c, nil
}

// parseTimes reads names and nanoseconds; of several of a name the least counts.
func parseTimes(out string) (map[string]float64, error) {
	times := map[string]float64{}
	for line := range strings.Lines(out) {
		var name string
		var ns float64
		if _, err := fmt.Sscan(line, &name, &ns); err != nil || ns <= 0 {
			return nil, fmt.Errorf("%w: %q", errOutput, line)
		}
		if old, ok := times[name]; !ok || ns < old {
			times[name] = ns
		}
	}
	if len(times) == 0 {
		return nil, fmt.Errorf("%w: nothing", errOutput)
	}
	return times, nil
}
