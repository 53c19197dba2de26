package residence

import "time"

// Context is what the machine does to a context. Each method acts at once; instants are in
// nanoseconds of CLOCK_MONOTONIC.
type Context interface {
	// Guarded calls f, in which the image is used. A context that turns out not to be usable is
	// dropped from the machine (Drop).
	Guarded(f func())

	// Revoke keeps the process from taking the driver lock again, Restore lets it.
	Revoke()
	Restore()
	// Take takes the lock for the agent. It waits for at most share, and not beyond the instant
	// until. With an error the lock stays revoked. Leave gives it back.
	Take(share time.Duration, until int64) error
	Leave()

	// The following methods need the lock; see package drive.
	Flush(now int64)
	Flushed() bool
	Suspend(now int64)
	// Resume ends Flush and Suspend, whoever began them.
	Resume(now int64)
	// Follow completes Suspend and Resume with the work that grows with the number of peers.
	Follow()
	// Away reports whether it is suspended.
	Away() bool
	// Drive receives and sends until nothing comes any more, and returns when that was.
	Drive(now int64) (after int64)
	Due() int64

	// CheckAt makes the caller call Check for the context at the instant, Await also when something
	// comes for it.
	CheckAt(at int64)
	Await(at int64)
	// Back reports that the context is its process's again.
	Back(now int64)
}
