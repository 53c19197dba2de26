package stdiorelay

import "time"

const (
	// messageCost is the fixed cost of a message, in bytes: for each message the daemons on its way
	// do about as much work as for this many bytes.
	messageCost = 32 << 10
	// paceBurst is how much may be read at once after a silence, counted with messageCost: the
	// occasional output of ordinary programs does not wait.
	paceBurst = 1 << 20
	// paceTurn is the pause after the allowance was used up. Much output now and then costs less
	// than little output often, since every daemon on the way has to wake.
	paceTurn = 60 * time.Millisecond
	// paceLasts is how long a pace holds without being repeated: the server may be gone.
	paceLasts = 3 * time.Second
)

// pace bounds how fast output is read. Output that may not be read yet waits in the ranks' pipes,
// and is read with fewer calls later. The zero value has no bound.
type pace struct {
	rate  uint64 // bytes in a second; 0: no bound
	until time.Time
	left  int64     // bytes that may be read, including messageCost for each message
	spent bool      // the allowance is used up: nothing is read before left reaches turn
	at    time.Time // of left
}

// set takes the server's rate.
func (p *pace) set(now time.Time, rate uint64) {
	p.grow(now)
	if !p.bounded(now) {
		p.left, p.at = paceBurst, now
	}
	p.rate, p.until = rate, now.Add(paceLasts)
}

func (p *pace) bounded(now time.Time) bool { return p.rate > 0 && now.Before(p.until) }

// grow adds the bytes that have become readable since at.
func (p *pace) grow(now time.Time) {
	if !p.bounded(now) {
		return
	}
	grown := now.Sub(p.at).Seconds() * float64(p.rate)
	switch {
	case grown < 1: // it is not lost: at stays
	case grown > float64(paceBurst-p.left): // which may be too much for an int64
		p.left, p.at = paceBurst, now
	default:
		p.left, p.at = p.left+int64(grown), now
	}
}

// allows reports whether something may be read now.
func (p *pace) allows(now time.Time) bool {
	p.grow(now)
	p.spent = p.left <= 0 || p.spent && p.left < p.turn()
	return !p.bounded(now) || !p.spent
}

// turn returns the bytes, including messageCost, that left must reach before reading resumes.
func (p *pace) turn() int64 {
	return int64(min(paceTurn.Seconds()*float64(p.rate), paceBurst/2))
}

// charge counts a message that has been read.
func (p *pace) charge(bytes int) {
	if p.rate > 0 {
		p.left -= int64(bytes) + messageCost
	}
}

// next returns when something may be read again.
func (p *pace) next(now time.Time) time.Time {
	missing := float64(max(p.turn(), 1)-p.left+1) / float64(p.rate)
	at := now.Add(time.Duration(missing*float64(time.Second)) + time.Microsecond)
	if p.until.Before(at) {
		return p.until
	}
	return at
}
