package stewardpool

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"
)

// Run keeps the pool filled until ctx ends. It sleeps while nothing changes.
func (p *Pool) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.kick:
		case <-timer.C:
		}
		if wait := p.maintain(ctx); wait > 0 {
			timer.Reset(wait)
		}
	}
}

// maintain does the work that is due, and returns the time after which it must be called again if
// nothing changes; 0: never.
func (p *Pool) maintain(ctx context.Context) time.Duration {
	p.dropDead()
	again := p.retryStuck()
	for ctx.Err() == nil {
		number, wait := p.next(time.Now())
		if number < 0 {
			return sooner(again, wait)
		}
		s, err := p.start(ctx, number)
		if err == nil || ctx.Err() == nil {
			p.onStarted(s, err)
		}
		p.working.Done()
	}
	return 0
}

// next reserves a slot if a steward must be started now; otherwise the number is negative.
func (p *Pool) next(now time.Time) (number int, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if fresh, _ := p.unclaimed(); p.closed || fresh >= p.options.Warm {
		p.shortage = time.Time{}
		return -1, 0
	}
	if p.shortage.IsZero() {
		p.shortage = now
	}
	if wait := p.startDelay(now); wait > 0 {
		return -1, wait
	}
	return p.reserve(), 0
}

// startDelay returns how long to wait before a missing steward is started.
func (p *Pool) startDelay(now time.Time) time.Duration {
	if wait := p.failedAt.Add(retryEvery).Sub(now); wait > 0 {
		return wait
	}
	latest := p.shortage.Add(refillLatest).Sub(now)
	if p.launching > 0 {
		return max(latest, 0)
	}
	return max(min(latest, p.busyUntil.Sub(now)), 0)
}

// onStarted puts a new steward into the pool, or records that none could be started.
func (p *Pool) onStarted(s *Steward, err error) {
	if err != nil {
		p.options.Logger.Warn("no warm steward could be started", zap.Error(err))
		p.mu.Lock()
		defer p.mu.Unlock()
		p.failedAt = time.Now()
		return
	}
	if !p.keepFresh(s) {
		p.discard(s)
	}
}

// keepFresh puts a new steward into the pool, and reports whether the pool wants it.
func (p *Pool) keepFresh(s *Steward) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.outdated(s) {
		return false
	}
	p.warm = append(p.warm, s)
	return true
}

// dropDead removes warm stewards whose process has ended.
func (p *Pool) dropDead() {
	for _, s := range p.takeDead() {
		p.discard(s)
	}
}

// takeDead takes the warm stewards whose process has ended out of the pool.
func (p *Pool) takeDead() (dead []*Steward) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.warm = slices.DeleteFunc(p.warm, func(s *Steward) bool {
		gone := s.gone()
		if gone {
			dead = append(dead, s)
		}
		return gone
	})
	return dead
}

// sooner returns the smaller of two durations; 0 means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}
