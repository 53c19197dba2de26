package residence

import (
	"slices"
	"time"
)

const (
	// claimPatience bounds the wait for all driver locks of a job together: a process in the middle
	// of a section may have lost its processor to the agent.
	claimPatience = 200 * time.Microsecond
	// minShare is the shortest wait for one of them: longer than any section.
	minShare = 50 * time.Microsecond
	// MaxStrikes bounds how often the time for revoking, and that for flushing, is halved.
	MaxStrikes = 5
	// claimRetry is the wait until the next try while the step's end is awaited.
	claimRetry = int64(20 * time.Microsecond)
	// retryFirst is the wait until the next try when nobody waits for it, doubled with each up to
	// retryDoublings times, 64 ms.
	retryFirst     = int64(time.Millisecond)
	retryDoublings = 6
	// minFlush is the shortest time for a flush: with less, one late answer would leave no time
	// for a complete flush ever again.
	minFlush = int64(300 * time.Microsecond)
	// flushGap is the shortest time between two checks of a context that is flushed, unless
	// something comes.
	flushGap = int64(50 * time.Microsecond)
	// answersGap is the delay after which a context that has just left is driven once more, for
	// answers that are due.
	answersGap = int64(time.Millisecond)
)

// Machine tracks how a job's contexts on one node leave their channels and come back. The zero
// value is a job that is on, without contexts.
type Machine struct {
	members []*Member
	round   []*Member // a copy for loops, since a context that cannot be used drops out
	off     bool      // the job's processes must not drive
	leaving bool      // the job is being removed: nothing is switched any more
	step    Step
	number  uint64
	now     int64 // of the order, or the settling, that is being carried out
	by      int64
	began   int64
	awaited bool // the order's end must still be reported
	strikes int  // switches in a row at which a process did not release the lock, up to MaxStrikes
	silent  int  // the same, at which not all was answered in time
	saved   Outcome

	following bool // the order is being carried out, and cannot be over yet
}

// Off reports whether the job's processes must not drive.
func (m *Machine) Off() bool { return m.off }

// Awaited reports whether the end of an order is still to be reported, see Outcome.
func (m *Machine) Awaited() bool { return m.awaited }

// Contexts is how many the machine has.
func (m *Machine) Contexts() int { return len(m.members) }

// Deadline returns the instant at which the order is over at the latest.
func (m *Machine) Deadline() int64 { return m.by }

// Order begins a step at the instant now; revoking and flushing end at the instant by at the
// latest. It includes what earlier steps would have done, and replaces the order before it. The
// caller calls Settle some time after Outcome, unless another order comes first. Order allocates
// nothing.
func (m *Machine) Order(now int64, step Step, number uint64, by int64) {
	m.Settle(now)
	switch { // the next gang does not wait at every switch for a process that never releases the lock, or a peer that never answers
	case by <= now:
	case step == Revoke:
		by = now + (by-now)>>m.strikes
	case step == Flush:
		by = now + min(by-now, max((by-now)>>m.silent, minFlush))
	}
	m.step, m.number, m.by, m.began, m.awaited = step, number, by, now, true
	m.saved = Outcome{}
	if !m.leaving {
		m.off = step != Load
		m.follow(now)
	}
}

// Settle does the work that nobody waits for when contexts leave and come back: system calls, and
// work for each peer.
func (m *Machine) Settle(now int64) {
	if !slices.ContainsFunc(m.members, func(c *Member) bool { return c.settles }) {
		return
	}
	m.now = now
	for _, c := range m.all() {
		c.guarded(c.settle)
	}
}

// all is a copy of the members, for one caller at a time.
func (m *Machine) all() []*Member {
	m.round = append(m.round[:0], m.members...)
	return m.round
}

// Release ends all switching of a job that is being removed: its ranks' last messages must still
// arrive. The caller then calls Settle, as with Order.
func (m *Machine) Release(now int64) {
	m.off, m.leaving, m.step = false, true, Load
	m.follow(now)
}

// follow brings all contexts to where the step wants them. All are revoked before the first is
// waited for.
func (m *Machine) follow(now int64) {
	m.following, m.now = true, now
	all := m.all()
	if m.off {
		for _, c := range all {
			c.guarded(c.revoke)
		}
	}
	for _, c := range all {
		c.guarded(c.advance)
	}
	m.following = false
}
