package daemons

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"

	"score/scored/api/scorev1"
	"score/scored/client"
)

// Election is what happened from when a leader was killed or stopped until all was well.
type Election struct {
	// Elected is after how long another server led, and answered.
	Elected time.Duration
	// Blocked is the longest that a submission by way of the other servers took.
	Blocked time.Duration
	// Overlong is by how much slices of the gangs were too long since, see Turns.Overlong; 0 without gangs.
	Overlong time.Duration
}

// String says it in one line.
func (e Election) String() string {
	return fmt.Sprintf("another leads after %v, submissions were blocked for %v, slices were too long by %v",
		e.Elected.Round(time.Millisecond), e.Blocked.Round(time.Millisecond), e.Overlong.Round(time.Microsecond))
}

// StoodStill is what part, in percent, of a time in which agents would have stood still may be that by which slices were too
// long: nearly all, as a busy machine makes some longer.
const StoodStill = 80

// TookTurns says that the gangs went on taking turns while there was no leader.
func (e Election) TookTurns() bool { return e.Overlong <= e.Elected*StoodStill/100 }

// afterElection is how many submissions must be taken before an election is over: some by way of each server.
const afterElection = 6

// Elect kills the leader by signal 9, or stops it, waits until another leads and takes submissions of the load, and lets the
// old one come back. Gangs, which share their nodes with slices of Options.Slice, must have had their turns until another leads.
func (c *Cluster) Elect(ctx context.Context, load *Load, stop bool, gangs ...*Job) (e Election, err error) {
	leader, err := c.AwaitLeader(ctx, "", c.OtherServers(nil)...)
	if err != nil {
		return e, err
	}
	others := c.OtherServers(leader)
	turns, err := c.Turns(ctx, gangs...)
	if err != nil {
		return e, err
	}
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
	watching.Go(func() { load.Submit(ctx, others...) }) // who comes first waits longest
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
	if _, err = c.AwaitLeader(ctx, "", c.OtherServers(nil)...); err != nil {
		return e, err
	}
	e.Overlong, err = turns.Overlong(ctx, c.Slice)
	return e, err
}

// askAgain is after how long a question is asked anew that is not answered. Who waits for a leader answers as soon as there
// is one.
const askAgain = 250 * time.Millisecond

// decides waits until what a server says is fresh, for which another than the one that is lost must lead.
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
