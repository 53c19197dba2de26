package daemons

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Election is what happened from when a leader was killed or stopped until all was well.
type Election struct {
	// Elected is after how long another server said to lead.
	Elected time.Duration
	// Blocked is the longest time between two submissions that were acknowledged by way of the other servers.
	Blocked time.Duration
	// Switches are those that agents did until then, and Missed the boundaries that passed before an agent woke.
	Switches, Missed float64
}

// String says it in one line.
func (e Election) String() string {
	return fmt.Sprintf("another leads after %v, submissions were blocked for %v, %v switches meanwhile, %v missed",
		e.Elected.Round(time.Millisecond), e.Blocked.Round(time.Millisecond), e.Switches, e.Missed)
}

// afterElection is how many submissions must be taken before an election is over: some by way of each server.
const afterElection = 6

// Elect kills the leader by signal 9, or stops it, waits until another leads and takes submissions of the load, and lets the
// old one come back.
func (c *Cluster) Elect(ctx context.Context, load *Load, stop bool) (e Election, err error) {
	leader, err := c.AwaitLeader(ctx, "", c.OtherServers(nil)...)
	if err != nil {
		return e, err
	}
	others := c.OtherServers(leader)
	before, err := c.turns(ctx)
	if err != nil {
		return e, err
	}
	load.Blocked()
	began := time.Now()
	if stop {
		leader.Pause()
		defer leader.Continue()
	} else {
		leader.Kill()
	}
	elected := make([]time.Duration, len(others))
	var watching sync.WaitGroup
	for i, other := range others {
		watching.Go(func() {
			if _, err := c.AwaitLeader(ctx, leader.Name, other); err == nil {
				elected[i] = time.Since(began)
			}
		})
	}
	watching.Wait()
	e.Elected = min(elected[0], elected[len(elected)-1])
	if err := load.AwaitAccepted(ctx, afterElection); err != nil {
		return e, err
	}
	e.Blocked = load.Blocked(others...)
	// Agents count every second, while there is a leader, what they did meanwhile.
	err = Await(ctx, "the agents tell of switches", func() bool {
		after, err := c.turns(ctx)
		e.Switches, e.Missed = after.Switches-before.Switches, after.Missed-before.Missed
		return err == nil && e.Switches > 0
	})
	if err != nil {
		return e, err
	}
	if stop {
		leader.Continue()
	} else if err := leader.Start(); err != nil {
		return e, err
	}
	_, err = c.AwaitLeader(ctx, "", c.OtherServers(nil)...)
	return e, err
}

// turns counts the agents' switches until now. A busy machine may keep them from answering for a while.
func (c *Cluster) turns(ctx context.Context) (sum Election, err error) {
	var errs []error
	for _, agent := range c.Agents {
		errs = append(errs, Await(ctx, "agent "+agent.Name+" tells of its switches", func() bool {
			switches, err := agent.Metric("score_agent_switches_total")
			missed, missedErr := agent.Metric("score_agent_boundaries_missed_total")
			if err != nil || missedErr != nil {
				return false
			}
			sum.Switches, sum.Missed = sum.Switches+switches, sum.Missed+missed
			return true
		}))
	}
	return sum, errors.Join(errs...)
}
