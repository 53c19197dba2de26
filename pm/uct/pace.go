package uct

import "time"

const (
	// minTimed is the shortest pull, in bytes, for which the faster way is measured and taken:
	// shorter ones are too short for the clock.
	minTimed = 256 << 10
	// paceRetry is the number of pulls after which the slower way is tried again: the ranks may
	// have moved.
	paceRetry = 64
)

// pace is the measured time of long pulls from a peer on this node, both ways, in nanoseconds per
// byte; 0 is unknown. At times pieces through the channel are twice as fast as a copy between the
// processes (1 MiB: 32 us to 75), as long as the CPUs of both ranks seem to share a cache; at times
// they are half as fast in a stream (6.8 GB/s to 11 to 13) on the very same machine.
type pace struct {
	streamed, copied float64
	turn             uint8
}

// copies reports whether the next pull is a copy.
func (p *pace) copies() bool {
	switch {
	case p.streamed == 0:
		return false
	case p.copied == 0:
		return true
	}
	p.turn++
	faster := p.copied < p.streamed
	return faster != (p.turn%paceRetry == 0)
}

// observe records how long n bytes took. Other programs only make it longer, so shorter times weigh
// more.
func observe(way *float64, n int, took time.Duration) {
	seen := float64(took) / float64(n)
	switch {
	case *way == 0:
		*way = seen
	case seen < *way:
		*way += (seen - *way) / 2
	default:
		*way += (seen - *way) / 8
	}
}
