package nodeagent

import (
	"context"
	"score/ctxswitch"
	"score/nodeagent/collectives"
	"score/nodeagent/dataplane"
	"score/nodeagent/jobaccount"
	"score/nodeagent/jobdirs"
	"score/nodeagent/jobstate"
	"score/nodeagent/outbox"
	"score/nodeagent/stewardpool"
	"score/nodeagent/switcher"
	"score/nodeagent/wait"
	"score/scored/api/scorev1"
	"sync"
	"sync/atomic"
	"time"
)

// job is one job's part on this node, from the order to prepare it until its
// steward has gone.
type job struct {
	agent *Agent
	id    uint64
	order *scorev1.Prepare
	// mark is in the environment of all its processes: what names the job among all
	// that ever ran on this machine.
	mark string
	// ctx ends when the job is forgotten.
	ctx    context.Context
	cancel context.CancelFunc
	// owned is what it has on the disks.
	owned *jobdirs.Owned
	// settled ends the time in which the start of other stewards is put off.
	settled func()
	// claimed is closed once the job has its steward, or never will; retired, when that may be given
	// back.
	claimed chan struct{}
	retired chan struct{}
	// over is closed once no process of the job is left here.
	over chan struct{}
	// group joins it with the other nodes; nil with one node.
	group *collectives.Group
	// outbox holds what the leader is to hear of it.
	outbox *outbox.Outbox
	// account is what it has used, and how its start went.
	account *jobaccount.Account
	// readers counts connections that relay its output.
	readers atomic.Int32
	// relays counts messages to other stewards that are on their way.
	relays atomic.Int32
	// keeper has the contexts outlive this agent; nil before there can be any. It is set
	// before claimed is closed.
	keeper *keeper

	mu       sync.Mutex
	state    *jobstate.Machine
	steward  *stewardpool.Steward
	channels *dataplane.Job // nil before it has a steward, and if it cannot have any
	handle   *switcher.Handle
	done     *scorev1.AgentMessage // NodeDone, when what the job had is cleared
	removed  <-chan switcher.Usage // answers when the switching thread has forgotten the job; nil: it is not forgotten
	unstage  context.CancelFunc    // ends the fetching of its files; nil: that is over
}

// newJob is a job as an order describes it; it is not in the table yet.
func (a *Agent) newJob(order *scorev1.Prepare) *job {
	ctx, cancel := context.WithCancel(a.working)
	j := &job{
		agent:   a,
		id:      order.GetJobId(),
		order:   order,
		ctx:     ctx,
		cancel:  cancel,
		settled: func() {},
		owned:   a.dirs.Own(order),
		outbox:  outbox.New(a.link.Send, a.connected.Load),
		account: jobaccount.New(a.clock.Cluster, a.countKeys),
		claimed: make(chan struct{}),
		retired: make(chan struct{}),
		over:    make(chan struct{}),
	}
	j.state = jobstate.New(jobstate.Config{Ranks: j.place().GetRanks(), Recover: order.GetSpec().GetRecover()})
	for _, place := range order.GetPlaces() {
		a.peers.Expect(place.GetAddress(), place.GetNode())
	}
	j.group = collectives.New(order, collectives.Options{
		Node: a.options.Name, Context: ctx, Peers: a.peers, Go: a.workers.Go, Metrics: a.metrics, Logger: a.log,
		Steward: j.stewardOf,
		Ends:    func(within time.Duration) bool { return j.overWithin(within) || j.isKilled() },
	})
	return j
}

// current does something with the switching thread on the job's behalf, unless
// the job is forgotten: its number may be another job's by then.
func (j *job) current(do func(*switcher.Switcher, ctxswitch.JobID)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.state.Forgotten() {
		do(j.agent.switcher, ctxswitch.JobID(j.id))
	}
}

// stewardOf returns the job's steward, nil before it has one.
func (j *job) stewardOf() *stewardpool.Steward {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.steward
}

func (j *job) isKilled() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state.Killed()
}

// IsOver reports whether no process of the job is left here.
func (j *job) IsOver() bool { return wait.Closed(j.over) }

// on says whether the job's gang is on here.
func (j *job) on() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.handle != nil && j.handle.On()
}

// ID implements idlewatch.Job and jobtable.Job.
func (j *job) ID() uint64 { return j.id }

// Attempt implements jobtable.Job.
func (j *job) Attempt() uint32 { return j.order.GetAttempt() }

// Send implements idlewatch.Job.
func (j *job) Send(message *scorev1.AgentMessage) { j.outbox.Send(message, false) }

// Use implements idlewatch.Job.
func (j *job) Use(do func(*dataplane.Job, *stewardpool.Steward, *switcher.Handle)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.state.Forgotten() && j.steward != nil && j.handle != nil && j.channels != nil {
		do(j.channels, j.steward, j.handle)
	}
}

// place is the job's part here.
func (j *job) place() *scorev1.NodePlace {
	return j.order.GetPlaces()[j.order.GetNodeIndex()]
}

// read counts a reader of the job's output; the function returned ends it.
func (j *job) read() (end func()) {
	j.readers.Add(1)
	return func() { j.readers.Add(-1) }
}
