package messages

import (
	"errors"
	"fmt"
	"strings"
)

// Curve is what one run of a program measured, in nanoseconds by size.
type Curve struct {
	Latency map[int]float64 // one way
	Stream  map[int]float64 // per message
}

func newCurve() Curve { return Curve{Latency: map[int]float64{}, Stream: map[int]float64{}} }

// Rate is in millions of messages a second.
func (c Curve) Rate(size int) float64 { return 1e3 / c.Stream[size] }

// Bandwidth is in 10^9 bytes a second.
func (c Curve) Bandwidth(size int) float64 { return float64(size) / c.Stream[size] }

// What the lines of a measuring program begin with; size and nanoseconds follow.
const (
	lineLatency = "lat"
	lineStream  = "bw"
)

var errOutput = errors.New("a measuring program printed what it should not")

// parseCurve reads what a measuring program printed.
func parseCurve(out string) (Curve, error) {
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
			c.Latency[size] = ns
		case lineStream:
			c.Stream[size] = ns
		default:
			return c, fmt.Errorf("%w: %q", errOutput, line)
		}
	}
	if len(c.Latency) == 0 {
		return c, fmt.Errorf("%w: nothing", errOutput)
	}
	return c, nil
}
