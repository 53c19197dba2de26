package main

import "time"

// confirmTime is the time within which a second ^C ends the job, as with srun.
const confirmTime = time.Second

// interruptAction is the action that a ^C requests.
type interruptAction int

const (
	// interruptShow prints the state of the ranks and what the next ^C does.
	interruptShow interruptAction = iota
	// interruptKill ends the job and goes on waiting for its end.
	interruptKill
	// interruptLeave leaves without waiting.
	interruptLeave
)

// interrupts counts the ^Cs so far. It does no I/O.
type interrupts struct {
	last   time.Time // of the last ^C that only showed the ranks; zero: none yet
	killed bool      // the user has ended the job
}

// escape handles a terminal's escape. It needs no confirmation.
func (i *interrupts) escape() interruptAction {
	if i.killed {
		return interruptLeave
	}
	i.killed = true
	return interruptKill
}

// press handles a ^C at the time now.
func (i *interrupts) press(now time.Time) interruptAction {
	switch {
	case i.killed:
		return interruptLeave
	case !i.last.IsZero() && now.Sub(i.last) <= confirmTime:
		i.killed = true
		return interruptKill
	default:
		i.last = now
		return interruptShow
	}
}
