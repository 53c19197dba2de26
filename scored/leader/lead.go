package leader

import (
	"context"
	"fmt"
	"score/scored/replica"
	"time"
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
