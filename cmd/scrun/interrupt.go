package main

import "time"

// confirmTime is the time within which a second ^C ends the job, as with srun.
const confirmTime = time.Second

// interruptAction is the action that a SIGINT requests.
type interruptAction int

const (
	// interruptShow prints the state of the ranks and what the next ^C does.
	interruptShow interruptAction = iota
	// interruptKill ends the job and goes on waiting for its end.
	interruptKill
	// interruptLeave leaves without waiting.
	interruptLeave
	// interruptNothing does nothing.
	interruptNothing
)

// interrupts counts the SIGINTs so far. It does no I/O.
type interrupts struct {
	// last is when the last one came that only showed the ranks or, if a program sent it, ended the
	// job; zero: none yet.
	last   time.Time
	killed bool // the user has ended the job
}

// escape handles a terminal's escape. It needs no confirmation.
func (i *interrupts) escape() interruptAction {
	if i.killed {
		return interruptLeave
	}
	i.killed = true
	return interruptKill
}

// sent handles a SIGINT of another program at the time now. That program does not see what a ^C
// shows, so it ends the job. timeout sends it twice, and a script for srun does, too.
func (i *interrupts) sent(now time.Time) interruptAction {
	switch {
	case !i.killed:
		i.killed = true
		i.last = now
		return interruptKill
	case now.Sub(i.last) <= confirmTime:
		return interruptNothing
	default:
		return interruptLeave
	}
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
