package nodeagent

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"score/ctxswitch"
	"score/nodeagent/dataplane"
	"score/nodeagent/jobdirs"
	"score/nodeagent/jobstate"
	"score/nodeagent/stewardpool"
	"score/nodeagent/switcher"
	"score/nodeagent/wait"
	"score/scored/api/scorev1"
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
	// exchange carries collectives between the nodes; nil with one node.
	exchange *exchange
	// gossiper tells the other nodes of failures; nil with one node.
	gossiper *gossiper
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
	kept     []*scorev1.AgentMessage // what a new stream must be told again
	notes    []*scorev1.AgentMessage // what the next stream is to be told, once
	done     *scorev1.AgentMessage   // NodeDone, when what the job had is cleared
	removed  <-chan switcher.Usage   // answers when the switching thread has forgotten the job; nil: it is not forgotten
	dir      string                  // its directory, until that is removed
	files    string                  // the name of its ranks' directories elsewhere, as dir
	usage    *scorev1.Usage          // what the steward, or its control group, has said at the end
	unstage  context.CancelFunc      // ends the fetching of its files; nil: that is over
	readers  int                     // connections that relay its output
	fences   *scorev1.Fences         // replaced, never changed; nil: none yet
	start    *scorev1.NodeStart      // what is known of its start here, by the cluster's clock
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
		start:   &scorev1.NodeStart{},
		claimed: make(chan struct{}),
		retired: make(chan struct{}),
		over:    make(chan struct{}),
	}
	j.state = jobstate.New(jobstate.Config{Ranks: j.place().GetRanks(), Recover: order.GetSpec().GetRecover()})
	for _, place := range order.GetPlaces() {
		a.peers.Expect(place.GetAddress(), place.GetNode())
	}
	if len(order.GetPlaces()) > 1 {
		j.exchange = newExchange(j)
		j.gossiper = newGossiper(j)
	}
	return j
}

// tell sends a message about the job to the leader. What is kept is sent again
// on every new stream, until the leader says Forget.
func (j *job) tell(message *scorev1.AgentMessage, keep bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tellLocked(message, keep)
}

func (j *job) tellLocked(message *scorev1.AgentMessage, keep bool) {
	if j.state.Forgotten() {
		return
	}
	if keep {
		j.kept = append(j.kept, message)
	}
	j.agent.link.Send(message)
}

// tellAgain repeats on a new stream what the old one may have lost.
func (j *job) tellAgain() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, message := range j.kept {
		j.agent.link.Send(message)
	}
	for _, message := range j.notes {
		j.agent.link.Send(message)
	}
	j.notes = nil
}

// answered drops the kept requests that the leader has answered.
func (j *job) answered(is func(*scorev1.AgentMessage) bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kept = slices.DeleteFunc(j.kept, is)
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

// ID implements idlewatch.Job.
func (j *job) ID() uint64 { return j.id }

// Send implements idlewatch.Job.
func (j *job) Send(message *scorev1.AgentMessage) { j.tell(message, false) }

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
	j.mu.Lock()
	defer j.mu.Unlock()
	j.readers++
	return sync.OnceFunc(func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.readers--
	})
}

func (j *job) reading() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.readers > 0
}
