package flowctl

import (
	"errors"
	"fmt"
	"time"
)

// Defaults, with their reasons.
const (
	// DefaultWindow is what a sender may have in flight before it knows its
	// receiver: enough to keep a wire of 10 Gb/s and 50 us busy with full frames,
	// little enough for the smallest inbox, if frames have 32 KiB at most. The first
	// longer ones, of the loopback device alone, may be refused once.
	DefaultWindow = 32
	// DefaultMinWindow keeps a pipeline of two through any number of cuts: with
	// one frame in flight a sender would wait a round trip per frame.
	DefaultMinWindow = 2
	// DefaultMaxWindow bounds what is in flight: 256 frames of 1,400 bytes are
	// what an unprivileged socket's receive queue holds at most.
	DefaultMaxWindow = 256
	// DefaultAckEvery answers each 16th frame: an eighth of a percent of a full
	// frame's bytes, and well below the first window.
	DefaultAckEvery = 16
	// DefaultAckDelay is how long an acknowledgement waits for a frame to ride
	// on: longer than a fine-grained program takes to reply, far below RTOFloor.
	DefaultAckDelay = 200 * time.Microsecond
	// DefaultFirstRTO holds until a round trip has been measured.
	DefaultFirstRTO = 5 * time.Millisecond
	// DefaultRTOFloor leaves a receiver time to be scheduled. It may be below
	// the time after which agents drive a computing rank's context (2 ms): what
	// the timer sends is an ask, never a frame again, so that early costs little.
	DefaultRTOFloor = time.Millisecond
	// DefaultRTOMax bounds the backoff, so that a peer that comes back is noticed
	// soon after.
	DefaultRTOMax = 200 * time.Millisecond
	// DefaultProbe is how long a refused sender waits before it asks, in case
	// Ready was lost: long against a round trip, since Ready usually arrives.
	DefaultProbe = 5 * time.Millisecond
	// DefaultProbeMax bounds the backoff of probes.
	DefaultProbeMax = 100 * time.Millisecond
	// DefaultReadyResend is the first wait before Ready is sent again.
	DefaultReadyResend = time.Millisecond
	// DefaultFailAfter is how long a sender gets no answer before its peer counts as gone: longer
	// than any pause that a loaded but living node makes. The agent reports peers that are known to
	// be dead at once.
	DefaultFailAfter = 10 * time.Second
)

const (
	// MaxWindow bounds Config.MaxWindow: far below half of the sequence space,
	// as comparing numbers needs.
	MaxWindow = 1 << 15
	// readyResends bounds how often Ready is sent again, each time after twice the wait: 127 ms in
	// all by default. From then on the sender's probe, which by then has had its turn many times,
	// is enough.
	readyResends = 7
	// steadyAsks is how many asks without an answer go at the same pace. Of a network that loses
	// half of all that is sent, one ask in four brings an answer, and doubling from the first on
	// would wait 100 ms for it. A silence that lasts longer than eight asks is hardly loss, and the
	// peer is left in peace. Eight headers are less than one full frame.
	steadyAsks = 8
	// minPause is how late a deadline must be noticed to conclude that nobody drove the sender:
	// its process stood still, as in a gang that is off, and so did its peer. An agent that drives
	// in place of a process is late by less, some ticks of a millisecond.
	minPause = 3 * time.Millisecond
	// maxShift bounds each doubling of a wait before it meets its own maximum.
	maxShift = 16
	// fullCut: a refusal halves the window. The receiver's room was overcommitted
	// by all its senders, so that each must give way quickly.
	fullCut = 2
	// gapCut: a lost frame takes a quarter. It may be an overflow somewhere, but
	// as well noise, and then halving would leave the wire idle.
	gapCut = 4
	// growth: a window of acknowledged frames adds an eighth, so that a halved
	// window is back after some six round trips, and refusals, if they come at
	// every turn, cost a few percent.
	growth = 8
	// windowAll stands in Answer.Room for room without a bound worth telling.
	windowAll = 1<<16 - 1
)

// NoDeadline is the deadline of a machine that waits for nothing.
const NoDeadline = 1<<63 - 1

// Config holds the numbers of the protocol. It must be valid ([Config.Validate])
// and is shared by all peers of a channel, for reading.
type Config struct {
	Policy Policy // how much may be sent; default AckNack

	InitialWindow uint16 // frames in flight before anything is known
	MinWindow     uint16 // frames in flight after any number of cuts
	MaxWindow     uint16 // frames in flight at most

	AckEvery uint16        // unanswered frames after which the answer is sent at once
	AckDelay time.Duration // answer after this time at the latest

	FirstRTO    time.Duration // wait before asking, no round trip being measured
	RTOFloor    time.Duration // shortest wait before asking
	RTOMax      time.Duration // longest wait between two asks
	Probe       time.Duration // wait of a refused sender before asking
	ProbeMax    time.Duration // longest wait between two probes
	ReadyResend time.Duration // first wait before telling Ready again
	FailAfter   time.Duration // silence after which the peer is gone
}

// DefaultConfig returns the defaults with policy [AckNack].
func DefaultConfig() Config {
	return Config{
		Policy:        AckNack{},
		InitialWindow: DefaultWindow,
		MinWindow:     DefaultMinWindow,
		MaxWindow:     DefaultMaxWindow,
		AckEvery:      DefaultAckEvery,
		AckDelay:      DefaultAckDelay,
		FirstRTO:      DefaultFirstRTO,
		RTOFloor:      DefaultRTOFloor,
		RTOMax:        DefaultRTOMax,
		Probe:         DefaultProbe,
		ProbeMax:      DefaultProbeMax,
		ReadyResend:   DefaultReadyResend,
		FailAfter:     DefaultFailAfter,
	}
}

// ErrConfig is wrapped by all errors of [Config.Validate].
var ErrConfig = errors.New("flow control settings are not usable")

// Validate returns an error that names the first setting that is out of range.
func (c *Config) Validate() error {
	switch {
	case c.Policy == nil:
		return fmt.Errorf("%w: no policy", ErrConfig)
	case c.MinWindow < 1:
		return fmt.Errorf("%w: the smallest window is 0, must be 1 or more", ErrConfig)
	case c.InitialWindow < c.MinWindow || c.InitialWindow > c.MaxWindow:
		return fmt.Errorf("%w: the first window is %d, must be from %d to %d", ErrConfig, c.InitialWindow, c.MinWindow, c.MaxWindow)
	case c.MaxWindow > MaxWindow:
		return fmt.Errorf("%w: the largest window is %d, must be at most %d", ErrConfig, c.MaxWindow, MaxWindow)
	case c.AckEvery < 1:
		return fmt.Errorf("%w: frames per acknowledgement are 0, must be 1 or more", ErrConfig)
	case c.RTOMax < c.RTOFloor:
		return fmt.Errorf("%w: the longest retry wait %v is below the shortest %v", ErrConfig, c.RTOMax, c.RTOFloor)
	case c.ProbeMax < c.Probe:
		return fmt.Errorf("%w: the longest probe wait %v is below the first %v", ErrConfig, c.ProbeMax, c.Probe)
	}
	for _, wait := range []struct {
		name string
		d    time.Duration
	}{
		{"acknowledgement delay", c.AckDelay},
		{"first retry wait", c.FirstRTO},
		{"shortest retry wait", c.RTOFloor},
		{"probe wait", c.Probe},
		{"ready wait", c.ReadyResend},
		{"silence bound", c.FailAfter},
	} {
		if wait.d <= 0 || wait.d > time.Hour {
			return fmt.Errorf("%w: the %s is %v, must be above 0 and at most 1h", ErrConfig, wait.name, wait.d)
		}
	}
	return nil
}

// backoff returns wait doubled tries times, at most longest.
func backoff(wait, longest int64, tries uint8) int64 {
	return min(wait<<min(tries, maxShift), longest)
}
