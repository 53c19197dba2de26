package clock

import (
	"errors"
	"time"
)

// Bounds and rates of the filter.
const (
	// Window is how many samples are remembered. At one heartbeat in 250 ms it
	// spans 4 s, in which a quiet moment of the network is almost certain;
	// older samples have lost their worth by drift.
	Window = 16

	// MaxDriftPPM is the assumed largest drift between two clocks, in
	// millionths: that of two plain quartz oscillators of 25 ppm. Disciplined
	// by NTP they stay far below.
	MaxDriftPPM = 50

	// MaxRoundTrip is the longest round trip of an accepted sample. A longer
	// one tells less about the offset than no sample.
	MaxRoundTrip = time.Second

	// SlewPPM is how fast an offset in use moves to a better one. Cluster time
	// so never stands still nor runs back, and no slice becomes longer or
	// shorter by more than a twentieth; a millisecond takes 20 ms.
	SlewPPM = 50_000

	// OutliersToReset is how many samples in a row, agreeing with each other
	// and with nothing before, are taken for a new clock: a leader that was
	// suspended, or whose machine's clock was stepped. One alone is dropped.
	OutliersToReset = 3

	// maxInstant keeps sums and differences of instants from overflowing; as
	// Unix time it is in the year 2116.
	maxInstant = 1 << 62
)

// Why a sample was not used.
var (
	ErrImpossible = errors.New("the heartbeat's times are impossible")
	ErrSlow       = errors.New("the heartbeat took too long to say anything of the clock")
	ErrOldTerm    = errors.New("the heartbeat is of a former leader")
	ErrOutlier    = errors.New("the heartbeat contradicts those before it")
)

// Sample is one heartbeat that went to the leader and came back.
type Sample struct {
	Sent     int64 // local monotonic nanoseconds
	Arrived  int64 // cluster nanoseconds, when the leader had it
	Left     int64 // cluster nanoseconds, when the answer left
	Received int64 // local monotonic nanoseconds
}

// roundTrip returns how long the heartbeat was on its way, both ways together. A leader whose clock
// is faster may seem to have kept it for longer than it was away.
func (s *Sample) roundTrip() time.Duration {
	return time.Duration(max(s.Received-s.Sent-(s.Left-s.Arrived), 0))
}

// minOffset returns the smallest offset that is consistent with the sample: that the answer took no
// time.
func (s *Sample) minOffset() int64 { return s.Left - s.Received }

// offset returns the sample's estimate of cluster time minus local time.
func (s *Sample) offset() int64 { return s.minOffset() + int64(s.roundTrip())/2 }

// bound returns the largest error of offset at the local instant now: half the round trip, rounded
// up, and the drift since.
func (s *Sample) bound(now int64) int64 {
	return (int64(s.roundTrip())+1)/2 + drift(now-s.Sent)
}

// usable reports whether the sample means anything.
func (s *Sample) usable() error {
	for _, t := range [...]int64{s.Sent, s.Arrived, s.Left, s.Received} {
		if t < 0 || t >= maxInstant {
			return ErrImpossible
		}
	}
	away, there := s.Received-s.Sent, s.Left-s.Arrived
	if away < 0 || there < 0 || there > away+drift(away) {
		return ErrImpossible
	}
	if s.roundTrip() > MaxRoundTrip {
		return ErrSlow
	}
	return nil
}

// agrees reports whether one offset is consistent with both samples.
func (s *Sample) agrees(with *Sample) bool {
	now := max(s.Received, with.Received)
	apart := s.offset() - with.offset()
	if apart < 0 {
		apart = -apart
	}
	return apart <= s.bound(now)+with.bound(now)
}

// drift returns how far two clocks may diverge in elapsed nanoseconds, rounded up.
func drift(elapsed int64) int64 {
	return elapsed/1_000_000*MaxDriftPPM + (elapsed%1_000_000*MaxDriftPPM+999_999)/1_000_000
}

// Estimate is what is known of the leader's clock.
type Estimate struct {
	Term   uint64 // of the leader whose clock it is
	Offset int64  // cluster time minus local time, in nanoseconds; moves gently
	// ErrorBound is the largest possible error of Offset, if the clocks
	// diverge by no more than MaxDriftPPM.
	ErrorBound time.Duration
	RTT        time.Duration // of the sample it rests on
	Age        time.Duration // of that sample
}
