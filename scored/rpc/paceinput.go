package rpc

import (
	"context"
	"score/scored/leader"
	"time"
)

// inputBurst is for how long input may come faster than its pace, after a silence.
const inputBurst = 200 * time.Millisecond

// inputPace is how fast a client's input is carried to one source. Unlike output it is held here:
// who types it is held back by that.
type inputPace struct {
	flow      outputProgress // among the flows of its hosts
	passed    int            // since the last look, counted as messageCost says
	checkedAt time.Time
	rate      uint64    // bytes in a second; 0: no bound
	allowed   time.Time // when what has passed was due
}

// nextAt notes a message and tells when the next may follow.
func (p *inputPace) nextAt(now time.Time, bytes int) time.Time {
	if p.rate == 0 {
		return now
	}
	if earliest := now.Add(-inputBurst); p.allowed.Before(earliest) {
		p.allowed = earliest
	}
	cost := float64(bytes+messageCost) / float64(p.rate)
	p.allowed = p.allowed.Add(time.Duration(cost * float64(time.Second)))
	return p.allowed
}

// checkDue reports whether it is time to ask who else computes.
func (p *inputPace) checkDue(now time.Time, bytes int) bool {
	p.passed += bytes + messageCost
	if p.passed < paceAfter && (p.rate == 0 || now.Sub(p.checkedAt) < paceAgain) || now.Sub(p.checkedAt) < paceEvery {
		return false
	}
	p.passed, p.checkedAt = 0, now
	return true
}

// holdInput waits until more input may follow; false: ctx has ended before.
func (m *merger) holdInput(ctx context.Context, source *leader.Source, at string, p *inputPace, bytes int) bool {
	now := time.Now()
	if p.checkDue(now, bytes) {
		hosts := m.hosts.path(at, m.stream.Peer().Addr)
		if crowds, err := m.attachment.Contended(ctx, source.Job, hosts, m.hosts.alias); err == nil {
			p.rate = m.flows.rate(crowds, &p.flow, now)
		}
	}
	wait := p.nextAt(now, bytes).Sub(now)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
