// Package quiescence decides, of one job's part on a node, whether all its ranks sleep: until a message
// comes, with none on its way, for so long that it is worth giving the job's turn away. It is a
// machine without I/O: samples go in, and what is to be told comes out.
package quiescence

import "time"

const (
	// After is how long, of the time that the gang is on, all ranks must have slept: some switches
	// of the longest usual slice, and far above the pauses of a program that exchanges messages.
	After = 200 * time.Millisecond
	// Window is over how long the CPU time is counted in which ranks look around and sleep again,
	// which they do once a second: in a shorter one the looks of ranks that began to wait together
	// would come together.
	Window = time.Second
	// LookTime is what such looks may take of a window for each rank, and for the rest of the job:
	// a look takes 0.1 ms in C, and 2 ms in Go, whose runtime wakes a thread of its own with it. A
	// C program of libfabric, which looks ten times a second, takes 7 ms on a busy machine. Who
	// computes beside a thread that waits has used it up within some ten milliseconds.
	LookTime = 10 * time.Millisecond
)

// Sample is how a job's part on the node is at an instant.
type Sample struct {
	Now    int64         // by the monotonic clock
	On     time.Duration // how long its gang has been on so far
	CPU    time.Duration // what its processes have used so far
	Ranks  int           // that have not ended
	Asleep int           // of these, those that sleep until something comes
	// Pending counts channels with messages or answers on their way.
	Pending int
	// Mark is another one when a rank has sent, received, or waits another time.
	Mark uint64
}

// quiet reports whether nothing happens in the sample itself.
func (s *Sample) quiet() bool { return s.Ranks > 0 && s.Asleep == s.Ranks && s.Pending == 0 }

// Watch is the state of one job. The zero value is that of a job that is awake.
type Watch struct {
	first  Sample // of those since when nothing has happened
	window Sample // where the present window began
	still  bool   // first is set
	asleep bool
	epoch  uint64
}

// Asleep reports whether the job sleeps.
func (w *Watch) Asleep() bool { return w.asleep }

// Epoch is another one whenever anything has happened.
func (w *Watch) Epoch() uint64 { return w.epoch }

// Update takes a sample, and reports whether Asleep has changed.
func (w *Watch) Update(s Sample) (changed bool) {
	if !w.continues(&s) {
		changed = w.asleep
		w.epoch++
		w.asleep, w.still = false, s.quiet()
		w.first, w.window = s, s
		return changed
	}
	if s.Now-w.window.Now >= int64(Window) {
		w.window = s
	}
	if w.asleep || s.On-w.first.On < After {
		return false
	}
	w.asleep = true
	return true
}

// continues reports whether nothing has happened since the first sample.
func (w *Watch) continues(s *Sample) bool {
	return w.still && s.quiet() && s.Ranks == w.first.Ranks && s.Mark == w.first.Mark &&
		s.CPU-w.window.CPU <= LookTime*time.Duration(s.Ranks+1)
}
