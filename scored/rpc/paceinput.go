package rpc

import (
	"context"
	"score/scored/leader"
	"time"
)

// inputBurst is how much input, in time at its pace, may pass at once after a pause.
const inputBurst = 200 * time.Millisecond

// inputPace is the pace of a client's input to one source. Unlike output, input is held here, which
// blocks the client.
type inputPace struct {
	flow      outputProgress // this stream among the flows of its hosts
	passed    int            // since the last check, in bytes with messageCost
	checkedAt time.Time
	rate      uint64    // bytes per second; 0: no limit
	allowed   time.Time // when the input so far was due
}

// nextAt counts a message, and returns when the next one may follow.
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

// checkDue reports whether it is time to check whether other jobs compute, and what has passed
// since the last time.
func (p *inputPace) checkDue(now time.Time, bytes int) (passed int, due bool) {
	p.passed += bytes + messageCost
	if p.passed < paceAfter && (p.rate == 0 || now.Sub(p.checkedAt) < paceInterval) || now.Sub(p.checkedAt) < paceEvery {
		return 0, false
	}
	passed, p.passed, p.checkedAt = p.passed, 0, now
	return passed, true
}

// holdInput waits until more input may follow. It returns false if ctx ends first.
func (m *merger) holdInput(ctx context.Context, source *leader.Source, at string, p *inputPace, bytes int) bool {
	now := time.Now()
	if passed, due := p.checkDue(now, bytes); due {
		hosts := m.hosts.path(at, m.stream.Peer().Addr)
		if crowds, err := m.attachment.Contended(ctx, source.Job, hosts, m.hosts.alias); err == nil {
			p.rate = m.flows.rate(crowds, m.uid, &p.flow, passed, now)
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
