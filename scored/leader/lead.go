package leader

import (
	"context"
	"fmt"
	"score/scored/replica"
	"time"
)

// otherLeads reports whether another server leads, so that what comes here is in vain.
func (l *Leader) otherLeads() bool {
	name, _ := l.options.Replica.Leader()
	return name != "" && name != l.options.Replica.Name()
}

// Leads reports whether this server decides: it has a majority's word that it leads, or had it a
// moment ago.
func (l *Leader) Leads() bool { return l.deciding.Load() }

// verifyLeadership lets the controller go unless this server still leads. A process that stood still must
// not act on what it believed before: by then another may lead, and have told the agents otherwise.
// The word of a majority holds as long as a lease, since no other is elected sooner.
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

// Fresh returns when what is read here from now on is no older than the call: a majority has said
// since that this server leads.
func (l *Leader) Fresh(ctx context.Context) error {
	if !l.Leads() {
		return nil // whoever reads waits for a server that leads
	}
	if err := l.options.Replica.Verify(ctx); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("%w: %w", ErrNoLeader, err)
	}
	return nil
}
