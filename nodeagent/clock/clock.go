package clock

import (
	"errors"
	"time"
)

// Bounds and rates of the filter.
const (
	// Window is the number of kept samples. At one heartbeat in 500 ms it spans 8 s, in which a
	// quiet moment of the network is almost certain; drift has made older samples worthless.
	Window = 16

	// MaxDriftPPM is the assumed largest drift between two clocks, in
	// millionths: that of two plain quartz oscillators of 25 ppm. Disciplined
	// by NTP they stay far below.
	MaxDriftPPM = 50

	// MaxRoundTrip is the longest round trip of an accepted sample. Longer ones are worse than no
	// sample.
	MaxRoundTrip = time.Second

	// SlewPPM is how fast the offset in use moves to a better one. So cluster time never stops or
	// runs backwards, and no slice becomes longer or shorter by more than a twentieth; a change of
	// a millisecond takes 20 ms.
	SlewPPM = 50_000

	// OutliersToReset is the number of consecutive samples that agree with each other but not with
	// earlier ones after which they are taken for a new clock: the leader was suspended, or its
	// machine's clock was stepped. Fewer are dropped.
	OutliersToReset = 3

	// maxInstant bounds instants, so that sums and differences do not overflow; as Unix time it is
	// in the year 2116.
	maxInstant = 1 << 62
)

// Why a sample was not used.
var (
	ErrImpossible = errors.New("the heartbeat's times are impossible")
	ErrSlow       = errors.New("the heartbeat took too long to measure the clock")
	ErrOldTerm    = errors.New("the heartbeat is of a former leader")
	ErrOutlier    = errors.New("the heartbeat contradicts the earlier ones")
)

// Sample is one heartbeat that went to the leader and came back.
type Sample struct {
	Sent     int64 // local monotonic nanoseconds
	Arrived  int64 // cluster nanoseconds, when the leader had it
	Left     int64 // cluster nanoseconds, when the answer left
	Received int64 // local monotonic nanoseconds
}

// roundTrip returns the heartbeat's time on the network, both ways together; never negative,
// although a leader with a faster clock may seem to have kept the heartbeat for longer than it was
// away.
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

// usable returns an error if the sample is useless.
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

// Estimate is an estimate of the leader's clock.
type Estimate struct {
	Term   uint64 // of the leader whose clock it is
	Offset int64  // cluster time minus local time, in nanoseconds; moves gently
	// ErrorBound is the largest possible error of Offset, if the clocks
	// diverge by no more than MaxDriftPPM.
	ErrorBound time.Duration
	RTT        time.Duration // of the sample it rests on
	Age        time.Duration // of that sample
}
