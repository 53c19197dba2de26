package reliable

import "time"

const (
	// pauseRepeat is how often an endpoint that asks its peers to pause asks again.
	pauseRepeat = time.Second
	// pauseFor is how long a request to pause holds: its end may be lost, and the peer, too.
	pauseFor = 3 * pauseRepeat
)

// SetPause sets whether peers are asked to pause, because what they send cannot be passed on. Each
// message and acknowledgement says so; peers that pause hear it again, and hear the end at once.
func (e *Endpoint) SetPause(now time.Time, pause bool) {
	if e.pauses == pause {
		return
	}
	e.pauses = pause
	for _, p := range e.peers {
		if !p.askAt.IsZero() {
			p.askAt = now
			e.wake(now)
		}
	}
}

// Paused reports whether a peer asks for a pause. Messages that are sent all the same go at once.
func (e *Endpoint) Paused() bool { return e.paused > 0 }

// notePauseSent records that a peer is told whether to pause.
func (e *Endpoint) notePauseSent(now time.Time, p *peer) {
	p.askAt = time.Time{}
	if e.pauses {
		p.askAt = now.Add(pauseRepeat)
		e.wake(p.askAt)
	}
}

// setPaused records what a peer says.
func (e *Endpoint) setPaused(now time.Time, p *peer, pause bool) {
	if !p.pausedUntil.IsZero() {
		e.paused--
	}
	p.pausedUntil = time.Time{}
	if pause {
		e.paused++
		p.pausedUntil = now.Add(pauseFor)
		e.wake(p.pausedUntil)
	}
}

// expirePause ends the pause for a peer that has not asked again.
func (e *Endpoint) expirePause(now time.Time, p *peer) {
	switch {
	case p.pausedUntil.IsZero():
	case !now.Before(p.pausedUntil):
		e.setPaused(now, p, false)
	default:
		e.wake(p.pausedUntil)
	}
}

// headerAt returns when a header is due even if there is no message for it to go with; zero: none
// is.
func (p *peer) headerAt() time.Time {
	if p.askAt.IsZero() || !p.ackAt.IsZero() && p.ackAt.Before(p.askAt) {
		return p.ackAt
	}
	return p.askAt
}
