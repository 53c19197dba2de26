package uct

import "time"

const (
	// paceFrom is from how many bytes on a pull goes the way that was seen to be faster: shorter ones
	// end before a clock tells the ways apart.
	paceFrom = 256 << 10
	// paceAgain is after how many pulls the slower way is tried again: the ranks may have moved.
	paceAgain = 64
)

// pace is what long pulls from a peer on this node were seen to take, both ways, in nanoseconds per
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
	return faster != (p.turn%paceAgain == 0)
}

// note enters what n bytes took. Other programs only make it longer, so shorter times count more.
func note(way *float64, n int, took time.Duration) {
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
