package daemons

import (
	"context"
	"errors"
	"fmt"
	"score/scored/api/scorev1"
	"score/scored/client"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"
)

// Election is what happened between the loss of a leader and the end of its election.
type Election struct {
	// Elected is the time until another server led, and answered.
	Elected time.Duration
	// Blocked is the longest that a submission by way of the other servers took.
	Blocked time.Duration
}

// String describes the election in one line.
func (e Election) String() string {
	return fmt.Sprintf("another leads after %v, submissions were blocked for %v", e.Elected.Round(time.Millisecond), e.Blocked.Round(time.Millisecond))
}

// afterElection is how many submissions must be taken before an election is over: some by way of
// each server.
const afterElection = 6

// Elect kills the leader by signal 9, or stops it, waits until another leads and takes submissions
// of the load, and lets the old one come back.
func (c *Cluster) Elect(ctx context.Context, load *Load, stop bool) (e Election, err error) {
	leader, err := c.AwaitLeader(ctx, "", c.OtherServers(nil)...)
	if err != nil {
		return e, err
	}
	others := c.OtherServers(leader)
	if err := load.AwaitNone(ctx, others...); err != nil {
		return e, err
	}
	load.Blocked()
	began := time.Now()
	if stop {
		leader.Pause()
		defer leader.Continue()
		if err := Await(ctx, "the leader stands still", leader.Paused); err != nil {
			return e, err
		}
	} else {
		leader.Kill()
	}
	elected, errs := make([]time.Duration, len(others)), make([]error, len(others))
	var watching sync.WaitGroup
	for i, other := range others {
		watching.Go(func() {
			errs[i] = c.decides(ctx, other)
			elected[i] = time.Since(began)
		})
	}
	watching.Go(func() { load.Submit(ctx, others...) }) // the first submissions wait longest
	watching.Wait()
	if err := errors.Join(errs...); err != nil {
		return e, err
	}
	e.Elected = slices.Min(elected)
	if err := load.AwaitAccepted(ctx, afterElection); err != nil {
		return e, err
	}
	e.Blocked = load.Blocked(others...)
	if stop {
		leader.Continue()
	} else if err := leader.Start(); err != nil {
		return e, err
	}
	_, err = c.AwaitLeader(ctx, "", c.OtherServers(nil)...)
	return e, err
}

// turnsAlone is how many turns gangs must have by themselves: more than what was under way when the
// last server that led was lost.
const turnsAlone = 5

// TakeTurnsAlone kills all servers but one, so that no leader can order a switch, waits until the
// gangs have taken turns, and lets the servers come back.
func (c *Cluster) TakeTurnsAlone(ctx context.Context, gangs ...*Job) error {
	turns, err := c.Turns(ctx, gangs...)
	if err != nil {
		return err
	}
	lost := c.OtherServers(nil)[1:]
	for _, server := range lost {
		server.Kill()
	}
	if err := turns.AwaitTurns(ctx, turnsAlone); err != nil {
		return err
	}
	for _, server := range lost {
		if err := server.Start(); err != nil {
			return err
		}
	}
	_, err = c.AwaitLeader(ctx, "", c.OtherServers(nil)...)
	return err
}

// askAgain is the interval at which an unanswered question is repeated. A server that waits for a
// leader answers as soon as there is one.
const askAgain = 250 * time.Millisecond

// decides waits until a server answers with fresh state, which it can only when another server than
// the lost one leads.
func (c *Cluster) decides(ctx context.Context, server *Daemon) error {
	user := client.New(server.Socket)
	defer user.Close()
	return Await(ctx, "server "+server.Name+" answers by way of another that leads", func() bool {
		ctx, cancel := context.WithTimeout(ctx, askAgain)
		defer cancel()
		_, err := user.Cluster.GetSettings(ctx, connect.NewRequest(new(scorev1.GetSettingsRequest)))
		return err == nil
	})
}
