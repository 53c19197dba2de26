package jobs

import (
	"context"
	"maps"
	"score/ctxswitch"
	"score/nodeagent/collectives"
	"score/nodeagent/dataplane"
	"score/nodeagent/idlewatch"
	"score/nodeagent/jobaccount"
	"score/nodeagent/jobdirs"
	"score/nodeagent/jobstate"
	"score/nodeagent/launch"
	"score/nodeagent/outbox"
	"score/nodeagent/realtime"
	"score/nodeagent/steward/stewardpb"
	"score/nodeagent/stewardpool"
	"score/nodeagent/switcher"
	"score/nodeagent/wait"
	"score/nodeagent/wakesource"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Job is one job's part on this node.
//
//	handle != nil, channels != nil  =>  steward != nil
//	done != nil                     =>  no process of the job is left here
type Job struct {
	jobs    *Jobs
	options *Options
	id      uint64
	order   *agentpb.Prepare
	// mark is in the environment of all its processes. It is unique among all jobs on this machine,
	// ever.
	mark string
	// ctx ends when the job is forgotten; if its steward explains, not before it has one.
	ctx    context.Context
	cancel context.CancelFunc
	// owned holds its files.
	owned *jobdirs.Owned
	// endLaunch lets the pool start other stewards again.
	endLaunch func()
	// claimed is closed once the job has its steward or will have none; retired, once the steward
	// may return to the pool.
	claimed chan struct{}
	retired chan struct{}
	// over is closed once no process of the job is left here.
	over chan struct{}
	// group connects it with its other nodes; nil if it has one node.
	group *collectives.Group
	// outbox holds its messages for the leader.
	outbox *outbox.Outbox
	// account holds its resource use and the phases of its start.
	account *jobaccount.Account
	// readers counts connections that relay its output.
	readers atomic.Int32
	// watches counts the goroutines that watch its kill. None begins after Retire.
	watches sync.WaitGroup
	relays  *relays
	// spares keeps its contexts for the next agent; nil before there can be contexts. It is set
	// before claimed is closed.
	spares *spareKeeper

	mu       sync.Mutex
	state    *jobstate.Machine
	steward  *stewardpool.Steward
	channels *dataplane.Job // nil before it has a steward, and if they failed to open
	handle   *switcher.Handle
	done     *agentpb.AgentMessage // NodeDone, once the job's files and channels are removed
	removed  <-chan switcher.Usage // gets the usage once the switching thread has removed the job; nil before Unswitch
	unstage  context.CancelFunc    // cancels the fetch of its files; nil before it begins
	reason   string                // why it was killed; "": no reason was given
}

// withSwitcher calls do unless the job is forgotten, since another job may have its number by then.
func (j *Job) withSwitcher(do func(*switcher.Switcher, ctxswitch.JobID)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.state.Forgotten() {
		do(j.options.Switcher, ctxswitch.JobID(j.id))
	}
}

// stewardOf returns the job's steward, nil before it has one.
func (j *Job) stewardOf() *stewardpool.Steward {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.steward
}

func (j *Job) isKilled() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state.Killed()
}

func (j *Job) isSettled() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state.Settled()
}

// isEnding reports whether only the end of the job is left to do.
func (j *Job) isEnding() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state.Phase() >= jobstate.Orphaned
}

// IsOver reports whether no process of the job is left here.
func (j *Job) IsOver() bool { return wait.Closed(j.over) }

func (j *Job) overWithin(timeout time.Duration) bool {
	over, _ := wait.Within(context.Background(), j.over, timeout) // the context does not end
	return over
}

// gangOn reports whether the job's gang is on here.
func (j *Job) gangOn() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.handle != nil && j.handle.On()
}

// ID implements idlewatch.Job and jobtable.Job.
func (j *Job) ID() uint64 { return j.id }

// Attempt implements jobtable.Job.
func (j *Job) Attempt() uint32 { return j.order.GetAttempt() }

// Send implements idlewatch.Job.
func (j *Job) Send(message *agentpb.AgentMessage) { j.outbox.Send(message) }

// Examine implements idlewatch.Job: the steward's answer goes to Options.Examined.
func (j *Job) Examine(request uint64, own wakesource.Own) {
	question := &stewardpb.Examine{
		Request: request,
		Images:  slices.Collect(maps.Keys(own.Images)), Sockets: slices.Collect(maps.Keys(own.Sockets)),
	}
	j.withSteward(func(s *stewardpool.Steward) error { return s.Examine(question) })
}

// Use implements idlewatch.Job.
func (j *Job) Use(do func(idlewatch.Part)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.state.Forgotten() && j.steward != nil && j.handle != nil && j.channels != nil {
		do(part{j.channels, j.steward, j.handle})
	}
}

// part implements idlewatch.Part.
type part struct {
	*dataplane.Job
	*stewardpool.Steward
	*switcher.Handle
}

// Pids implements idlewatch.Part.
func (p part) Pids() ([]int, error) { return p.Container.Pids(nil) }

// InGroup implements idlewatch.Part.
func (p part) InGroup() bool { return p.Container.FD() >= 0 }

// countReader counts a reader of the job's output until end is called.
func (j *Job) countReader() (end func()) {
	j.readers.Add(1)
	return func() { j.readers.Add(-1) }
}

// explains reports whether the steward here writes why the job did not start, since nobody is
// attached to read it.
func (j *Job) explains() bool {
	return j.order.GetSpec().GetDetached() && j.order.GetNodeIndex() == 0
}

// place returns the job's place on this node.
func (j *Job) place() *scorev1.NodePlace { return j.order.GetPlaces()[j.order.GetNodeIndex()] }

// Note sends the user a sentence.
func (j *Job) Note(text string) {
	j.outbox.Note(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Note{Note: &agentpb.JobNote{JobId: j.id, Text: text}}})
}

// abort ends the job on all nodes, since this node has lost its part; a job with --requeue
// restarts.
func (j *Job) abort(lost, advice string) {
	j.outbox.Keep(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Abort{Abort: &agentpb.Abort{
		JobId:    j.id,
		Rank:     -1,
		ExitCode: launch.CodeCluster,
		Message:  lost + "; " + advice,
		PartLost: lost,
	}}})
}

// leaseUntil returns the end of a new job's first lease, by CLOCK_MONOTONIC; 0: it has no lease.
func (j *Job) leaseUntil() int64 {
	lease := j.order.GetLeaseNanos()
	if lease <= 0 {
		return 0
	}
	answered := j.jobs.answered.Load()
	if answered == 0 {
		answered = realtime.Now() // the order has come, and no heartbeat was answered yet
	}
	return answered + lease
}

// timeLimit returns how long the job may be on; 0 if another node watches the limit, or there is
// none.
func (j *Job) timeLimit() time.Duration {
	if j.order.GetNodeIndex() != 0 {
		return 0
	}
	return time.Duration(max(j.order.GetSpec().GetTimeLimitNanos(), 0))
}

// nearLimit returns how long the job may be on before it gets its warning signal; 0 if it gets
// none.
func (j *Job) nearLimit() time.Duration {
	if j.order.GetSpec().GetWarnSignal() == 0 {
		return 0
	}
	return max(j.timeLimit()-time.Duration(j.order.GetSpec().GetWarnNanos()), 0)
}
