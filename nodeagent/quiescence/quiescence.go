// Package quiescence decides whether a job is idle on a node: all ranks have slept until a message
// comes, with none on its way, for so long that the job's turn can go to another job. It is a
// machine without I/O: its input is samples of the job's state; its output is whether the job
// sleeps.
package quiescence

import "time"

const (
	// After is how long all ranks must have slept, in time that the gang was on: a few of the
	// longest usual slices, and far more than the pauses of a program that exchanges messages.
	After = 200 * time.Millisecond
	// Window is the period over which the CPU time of sleeping ranks is bounded. Sleeping ranks
	// wake, poll and sleep again once a second. In a shorter window, the polls of ranks that began
	// to wait together would coincide.
	Window = time.Second
	// PollTime is the CPU time that these polls may take in a window, for each rank and for the
	// rest of the job. A poll takes 0.1 ms in C, and 2 ms in Go, since Go's runtime then wakes a
	// thread of its own. A C program with libfabric polls ten times a second and takes 7 ms on a
	// busy machine. A rank that computes beside a waiting thread exceeds PollTime within some ten
	// milliseconds.
	PollTime = 10 * time.Millisecond
	// DoubtFor is how long a rank of a sleeping job may seem awake before it is taken to be. It may
	// have woken to poll, and wait for a CPU that another gang's ranks keep for some of the
	// kernel's slices, of 3 ms and more each. Time counts while the gang is on.
	DoubtFor = 30 * time.Millisecond
)

// Sample is the state of a job's part on the node at an instant.
type Sample struct {
	Now    int64         // by the monotonic clock
	On     time.Duration // how long its gang has been on so far
	CPU    time.Duration // what its processes have used so far
	Ranks  int           // that have not ended
	Asleep int           // of these, those that sleep until something comes
	// Pending counts channels with messages or answers on their way.
	Pending int
	// Mark changes when a rank has sent, received, or begun another wait.
	Mark uint64
}

// quiet reports whether all ranks sleep and no message is on its way.
func (s *Sample) quiet() bool { return s.Ranks > 0 && s.Asleep == s.Ranks && s.Pending == 0 }

// Watch is the state of one job. The zero value is a job that is awake.
type Watch struct {
	first  Sample // the first sample since which nothing has happened
	window Sample // the first sample of the present window
	still  bool   // first is set
	asleep bool
	doubt  time.Duration // On of the sample since which a rank seems awake; 0: none does
	epoch  uint64
}

// Asleep reports whether the job sleeps.
func (w *Watch) Asleep() bool { return w.asleep }

// Epoch returns a number that changes whenever anything has happened in the job.
func (w *Watch) Epoch() uint64 { return w.epoch }

// Doubts reports whether a rank of the sleeping job seems awake, and may be about to sleep again
// without anything having happened. Such a sample need not be given to Update; another should be
// taken soon.
func (w *Watch) Doubts(s *Sample) bool {
	seems := w.asleep && s.Ranks > 0 && s.Asleep < s.Ranks
	if !seems || s.Pending > 0 || !w.same(s) {
		w.doubt = 0
		return false
	}
	if w.doubt == 0 {
		w.doubt = s.On
	}
	return s.On-w.doubt < DoubtFor
}

// InDoubt reports whether the last sample was one that Doubts reported.
func (w *Watch) InDoubt() bool { return w.doubt > 0 }

// Update takes a sample, and reports whether Asleep has changed.
func (w *Watch) Update(s Sample) (changed bool) {
	w.doubt = 0
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

// continues reports whether nothing has happened from the first sample to s.
func (w *Watch) continues(s *Sample) bool {
	return w.still && s.quiet() && w.same(s)
}

// same reports whether the ranks have neither sent nor received nor computed since the first
// sample.
func (w *Watch) same(s *Sample) bool {
	return s.Ranks == w.first.Ranks && s.Mark == w.first.Mark &&
		s.CPU-w.window.CPU <= PollTime*time.Duration(s.Ranks+1)
}
