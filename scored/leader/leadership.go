package leader

import (
	"context"
	"fmt"
	"score/scored/api/protocol"
	"score/scored/replica"
	"score/scored/state"
	"time"

	"go.uber.org/zap"
)

// otherLeads reports whether another server leads, so that inputs here are refused.
func (l *Leader) otherLeads() bool {
	name, _ := l.options.Replica.Leader()
	return name != "" && name != l.options.Replica.Name()
}

// Leads reports whether this server decides: a majority has confirmed that it leads, at most a
// moment ago.
func (l *Leader) Leads() bool { return l.deciding.Load() }

// verifyLeadership abandons the controller unless this server still leads. A process that was
// stopped for a while must not act on its old state: another server may lead by now and have given
// other orders. A majority's confirmation is valid for a lease, since no other server is elected
// sooner.
func (l *Leader) verifyLeadership(ctx context.Context) {
	if !l.lead.Leader || time.Since(l.confirmed) <= replica.LeaseTimeout {
		return
	}
	asked := time.Now()
	if err := l.options.Replica.Verify(ctx); err != nil {
		l.abandon(fmt.Errorf("%w: %w", ErrLost, err))
		return
	}
	l.confirmed = asked
}

// Fresh returns once what is read here is no older than the call: a majority has confirmed since
// then that this server leads.
func (l *Leader) Fresh(ctx context.Context) error {
	if !l.Leads() {
		return nil // readers wait for a server that leads
	}
	if err := l.options.Replica.Verify(ctx); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("%w: %w", ErrNoLeader, err)
	}
	return nil
}

// onLeadership handles the start and the end of this server's leadership.
func (l *Leader) onLeadership(lead replica.Leadership) {
	l.abandon(ErrLost)
	l.lead = lead
	if lead.Leader {
		l.confirmed = time.Now() // an entry of its term is committed
		l.startLeading()
	}
}

// startLeading makes the controller from the committed state.
func (l *Leader) startLeading() {
	l.options.Replica.Read(func(s *state.State) {
		clock := newClock(s.Nanos())
		l.clock.Store(clock)
		l.term.Store(l.lead.Term)
		l.committed = 0
		l.controller = newController(l.config(), s, clock.Now())
		l.controller.continueFrom(l.given)
		if observe := l.options.ObserveRevoked; observe != nil {
			observe(l.controller.members.revoked())
		}
		if s.Nanos() == 0 { // in a new cluster this is the only server
			l.controller.raiseProtocol(protocol.Own().Newest)
			l.controller.startNodes = l.options.StartNodes
		}
		if l.options.Settings != nil && s.Nanos() == 0 {
			if err := l.controller.applySettings(l.options.Settings); err != nil {
				l.logger.Error("the configured settings are not used", zap.Error(err))
			}
		}
	})
	l.deciding.Store(true)
	l.logger.Info("leading", zap.Uint64("term", l.lead.Term))
	l.once.Do(func() { close(l.leading) })
}

func (l *Leader) config() config {
	o := &l.options
	return config{
		cluster: o.Cluster, version: o.Version, term: l.lead.Term, jobSecret: o.JobSecret,
		singleUser: o.SingleUser, shareCPUs: o.ShareCPUs, readState: o.Replica.Read, observeRevoked: o.ObserveRevoked,
	}
}

// abandon drops the controller. Agents connect again, and pending callers get an error.
func (l *Leader) abandon(why error) {
	c := l.controller
	if c == nil {
		return
	}
	l.controller, l.given = nil, c.numbers()
	l.deciding.Store(false)
	defer close(c.abandoned)
	for _, e := range c.effects {
		if e.call != nil {
			e.call(why)
		}
		if e.watcher != nil {
			e.watcher.breakOff()
		}
	}
	for _, n := range c.nodes {
		if n.link != nil {
			n.link.Close("")
		}
	}
	for _, j := range c.jobs {
		for _, w := range j.watchers {
			w.breakOff()
		}
	}
}
