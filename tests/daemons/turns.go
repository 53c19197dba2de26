package daemons

import (
	"context"
	"fmt"
	"score/channels/procstat"
	"score/scored/api/scorev1"
	"time"

	"connectrpc.com/connect"
)

// part is a gang on one of its nodes.
type part struct {
	job  uint64
	node string
}

// Turns observes gangs that take turns, from an instant on.
type Turns struct {
	cluster *Cluster
	had     map[part]*scorev1.Usage
	ranks   map[part][]Process
}

// Turns observes gangs that exchange messages.
func (c *Cluster) Turns(ctx context.Context, gangs ...*Job) (*Turns, error) {
	t := &Turns{cluster: c, had: make(map[part]*scorev1.Usage), ranks: make(map[part][]Process)}
	for _, gang := range gangs {
		id, err := gang.ID(ctx)
		if err != nil {
			return nil, err
		}
		if err := t.await(ctx, id); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *Turns) await(ctx context.Context, id uint64) error {
	return Await(ctx, fmt.Sprintf("job %d has had slices on all its nodes", id), func() bool {
		reply, err := t.cluster.Jobs.GetJob(ctx, connect.NewRequest(&scorev1.GetJobRequest{JobId: id}))
		if err != nil {
			return false
		}
		for _, share := range reply.Msg.GetNodes() {
			p := part{id, share.GetNode()}
			t.had[p], t.ranks[p] = share.GetUsage(), t.cluster.Ranks(id, share.GetNode())
			if share.GetUsage().GetSlices() == 0 || len(t.ranks[p]) == 0 {
				return false
			}
		}
		return len(reply.Msg.GetNodes()) > 0
	})
}

// ran returns how long each part's ranks had a processor until now.
func (t *Turns) ran() map[part]time.Duration {
	ran := make(map[part]time.Duration)
	for p, ranks := range t.ranks {
		for _, rank := range ranks {
			ran[p] += rank.ProcessorTime()
		}
	}
	return ran
}

// ProcessorTime returns how long the process had a processor until now; 0: it is gone.
func (p Process) ProcessorTime() time.Duration {
	stat, _ := procstat.Read(p.PID) // zero if it is gone
	return stat.CPU
}

// AwaitTurns waits until every gang has had a processor on each of its nodes, the given number of
// times in a row. Between two such times each node has switched.
func (t *Turns) AwaitTurns(ctx context.Context, times int) error {
	for i := range times {
		before := t.ran()
		err := Await(ctx, fmt.Sprintf("all gangs have had %d turns", i+1), func() bool {
			now := t.ran()
			for p := range t.ranks {
				if now[p] <= before[p] {
					return false
				}
			}
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Overlong waits until the nodes have told what the gangs had until after the call, and gives by
// how much the slices of one of them on one node were longer in sum than as many slices of the
// length: the time of those that another should have had. An agent that switches no more lets one
// gang have all the time.
func (t *Turns) Overlong(ctx context.Context, slice time.Duration) (longest time.Duration, err error) {
	had := make(map[part]*scorev1.Usage)
	for range 2 { // what agents, once a second, say first may be of before the call
		for p, before := range t.had {
			fewest := max(before.GetSlices(), had[p].GetSlices())
			err := Await(ctx, fmt.Sprintf("node %s tells of job %d", p.node, p.job), func() bool {
				had[p] = t.cluster.usageOn(ctx, p)
				return had[p].GetSlices() > fewest
			})
			if err != nil {
				return 0, fmt.Errorf("%w: it had told of %v", err, had[p])
			}
		}
	}
	for p, before := range t.had {
		ran := time.Duration(had[p].GetRunNanos() - before.GetRunNanos())
		longest = max(longest, ran-time.Duration(had[p].GetSlices()-before.GetSlices())*slice)
	}
	return longest, nil
}

// usageOn returns nil when no node answers.
func (c *Cluster) usageOn(ctx context.Context, p part) *scorev1.Usage {
	reply, err := c.Jobs.GetJob(ctx, connect.NewRequest(&scorev1.GetJobRequest{JobId: p.job}))
	if err != nil {
		return nil
	}
	for _, share := range reply.Msg.GetNodes() {
		if share.GetNode() == p.node {
			return share.GetUsage()
		}
	}
	return nil
}
