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

// interrupts is the state of ^C handling. It is a machine without I/O: press gets the time.
type interrupts struct {
	last   time.Time // of the last ^C that only showed the state; zero: none yet
	killed bool      // the job's end was asked for
}

// escape handles a terminal's escape, which needs no confirmation.
func (i *interrupts) escape() interruptAction {
	if i.killed {
		return interruptLeave
	}
	i.killed = true
	return interruptKill
}

// press handles one ^C at now.
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
