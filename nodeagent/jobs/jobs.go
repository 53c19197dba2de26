package jobs

import (
	"context"
	"score/nodeagent/collectives"
	"score/nodeagent/dataplane"
	"score/nodeagent/endings"
	"score/nodeagent/filetransfer"
	"score/nodeagent/hardware"
	"score/nodeagent/jobaccount"
	"score/nodeagent/jobdirs"
	"score/nodeagent/jobstate"
	"score/nodeagent/jobtable"
	"score/nodeagent/metrics"
	"score/nodeagent/outbox"
	"score/nodeagent/peers"
	"score/nodeagent/stewardpool"
	"score/nodeagent/strays"
	"score/nodeagent/switcher"
	"score/nodeagent/timekeeper"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// Options are the options of New: the parts of the node that jobs need.
type Options struct {
	Node     Node
	Leader   outbox.Leader
	Switcher *switcher.Switcher
	Pool     *stewardpool.Pool
	Plane    *dataplane.Plane
	Peers    *peers.Clients
	Files    *filetransfer.Transfers
	Dirs     *jobdirs.Dirs
	Hardware *hardware.Description
	Clock    *timekeeper.Keeper
	Metrics  *metrics.Metrics
	Logger   *zap.Logger

	// CheckReach refuses a job with channels if their link does not reach all of its places.
	CheckReach func(places []*scorev1.NodePlace) error
	// Examined gets what could wake a job here, after Job.Examine; it does not wait.
	Examined func(job, request uint64, source string)
	// Go runs a goroutine that acts for a job.
	Go func(func())
	// Running ends when the agent shall stop; Forced, when it no longer waits for processes to end.
	Running context.Context
	Forced  context.Context
}

// Jobs holds the jobs with a part on this node.
type Jobs struct {
	options  Options
	table    *jobtable.Table[*Job]
	endings  endings.List
	answered atomic.Int64 // when the last answered heartbeat was sent, by CLOCK_MONOTONIC
	dumping  sync.Mutex   // held while a dump is taken
	relays   relaysOfUsers
	strays   *strays.Killer
}

// New returns an empty Jobs.
func New(options Options) *Jobs {
	return &Jobs{options: options, table: jobtable.New[*Job](), strays: strays.New()}
}

// newJob makes a job from an order. It does not add it to the table.
func (js *Jobs) newJob(order *agentpb.Prepare) *Job {
	ctx, cancel := context.WithCancel(js.options.Running)
	j := &Job{
		jobs:      js,
		options:   &js.options,
		id:        order.GetJobId(),
		order:     order,
		ctx:       ctx,
		cancel:    cancel,
		endLaunch: func() {},
		owned:     js.options.Dirs.Own(order),
		outbox:    outbox.New(js.options.Leader),
		account:   jobaccount.New(js.options.Clock.Cluster, js.countKeys),
		claimed:   make(chan struct{}),
		retired:   make(chan struct{}),
		over:      make(chan struct{}),
		relays:    newRelays(js.relays.of(order.GetUser().GetUid())),
	}
	j.state = jobstate.New(jobstate.Config{
		Ranks:    j.place().GetRanks(),
		Recover:  order.GetSpec().GetRecover(),
		Explains: j.explains(),
	})
	for _, place := range order.GetPlaces() {
		js.options.Peers.Expect(place.GetAddress(), place.GetNode())
	}
	j.group = collectives.New(order, collectives.Options{
		Node: js.options.Node.Name, Context: ctx, Peers: js.options.Peers, Go: js.options.Go,
		Metrics: js.options.Metrics, Logger: js.options.Logger,
		Steward: func() collectives.Steward {
			if steward := j.stewardOf(); steward != nil {
				return steward
			}
			return nil
		},
		Ends: func(within time.Duration) bool { return j.overWithin(within) || j.isKilled() },
	})
	return j
}

// All lists the jobs that the leader has not forgotten, oldest first.
func (js *Jobs) All() []*Job { return js.table.All() }

// Get returns a job, nil if there is none with the number or it is forgotten.
func (js *Jobs) Get(id uint64) *Job { return js.table.Get(id) }

// Count counts the jobs that the leader has not forgotten.
func (js *Jobs) Count() int { return js.table.Count() }

// Problem returns a sentence about processes that do not end, "" if there are none.
func (js *Jobs) Problem() string { return js.endings.Problem() }

// ForgetBut ends all jobs but those that the leader of a new stream knows.
func (js *Jobs) ForgetBut(keep []uint64) {
	for _, j := range js.All() {
		if slices.Contains(keep, j.id) {
			continue
		}
		js.options.Logger.Info("the leader does not know a job; it is ended", zap.Uint64("job", j.id))
		js.Forget(j.id)
	}
}

// Repeat repeats on a new stream the messages that the leader may have missed.
func (js *Jobs) Repeat() {
	for _, j := range js.All() {
		j.outbox.Repeat()
	}
}

// Forget releases a job: its end is committed, or the leader never had it. A job that still runs is
// ended.
func (js *Jobs) Forget(id uint64) {
	j := js.table.Forget(id)
	if j == nil {
		js.options.Files.Release(id)
		return
	}
	j.step(jobstate.Forget)
	js.options.Files.Release(id)
	if j.explains() {
		j.stopStaging()
	} else {
		j.cancel()
	}
	j.endLaunch()
	j.withChannels((*dataplane.Job).Over)
	js.options.Go(func() {
		defer js.table.Remove(j)
		<-j.claimed
		j.cancel()
		<-j.removed
		<-j.retired
		j.retire()
	})
}

// ForgetAll begins to end all jobs.
func (js *Jobs) ForgetAll() {
	for _, j := range js.All() {
		js.Forget(j.id)
	}
}

// Leave disconnects from the stewards that have jobs: the next agent adopts them.
func (js *Jobs) Leave() {
	for _, j := range js.All() {
		if steward := j.stewardOf(); steward != nil {
			steward.Leave()
		}
		if j.spares != nil {
			j.spares.close()
		}
	}
}

// HandleNotices handles the notices of the switching thread until stop is closed.
func (js *Jobs) HandleNotices(stop <-chan struct{}) {
	for {
		select {
		case n := <-js.options.Switcher.Notices():
			if j := js.Get(uint64(n.Job)); j != nil {
				j.onNotice(n)
			}
		case <-stop:
			return
		}
	}
}

// RenewLeases renews the leases of jobs that may be started again elsewhere: their ranks live only
// as long as a leader answers the node's heartbeats. The stewards enforce the lease, since they
// outlive the agent. The lease begins when the heartbeat was sent, by CLOCK_MONOTONIC, and so ends
// before the leader's count of it.
func (js *Jobs) RenewLeases(sent int64) {
	js.answered.Store(sent)
	for _, j := range js.All() {
		if lease := j.order.GetLeaseNanos(); lease > 0 {
			if steward := j.stewardOf(); steward != nil {
				_ = steward.Lease(sent + lease) // a lost steward has ended its ranks
			}
		}
	}
}
