package leader

import (
	"score/gang"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// How the ranks of a cancelled job, and of one over its time, end by themselves before they are
// killed.

const (
	// DefaultKillWait is the time from SIGTERM to SIGKILL, as in Slurm: enough to write a small
	// checkpoint.
	DefaultKillWait = 30 * time.Second
	// MinKillWait lets a signal handler run. MaxKillWait bounds how long a job can hold its CPUs
	// beyond its time.
	MinKillWait, MaxKillWait = 100 * time.Millisecond, time.Hour
)

// launchDoubt is how long a job in the plan that no node has reported as launched may be in doubt
// after SIGTERM. Nodes that have not launched it end it at once. It is long enough for a report
// from a busy host, and short for a user who waits.
const launchDoubt = 5 * time.Second

// terminationSignals are sent in this order: a stopped process handles SIGTERM only after SIGCONT.
var terminationSignals = []unix.Signal{unix.SIGTERM, unix.SIGCONT}

// terminate ends a job like stop, and gives ranks that run time to end by themselves.
func (c *controller) terminate(j *job, v *scorev1.Verdict) { c.stepLiving(j, evTerminate{v}) }

// killNow ends a job like stop, also if its ranks have time to end by themselves.
func (c *controller) killNow(j *job, v *scorev1.Verdict) {
	c.stop(j, v)
	c.endGraceOfTree(j)
}

func (c *controller) endGraceOfTree(j *job) {
	c.step(j, evKill{})
	for _, child := range slices.Clone(j.children) {
		c.endGraceOfTree(child)
	}
}

// becomeTerminating sends the ranks SIGTERM. The gang stays in the plan until they have ended or
// the grace is over, since a frozen rank handles no signal. Nodes that have not launched it do not
// any more. The time of ranks that may run unknown to the leader begins when a node reports them.
func (c *controller) becomeTerminating(j *job, v *scorev1.Verdict) {
	j.state, j.verdict = ending, v
	c.forgetIdle(j)
	c.gang.SetIdle(gang.JobID(j.id), false) // an inherited job that starts is not in the plan yet
	c.planDirty = true                      // it may have slept
	grace := c.killWait()
	if j.started == 0 {
		grace = launchDoubt
	}
	j.graceUntil = c.now + grace.Nanoseconds()
	for _, p := range j.parts {
		if n := c.nodes[p.Node]; n != nil && !p.done {
			c.sendTerminate(n, j)
		}
	}
	c.awaitEnd(j)
	c.notifyState(j, v.GetMessage())
	for _, child := range slices.Clone(j.children) {
		c.terminate(child, spawnerEnded(j))
	}
}

func (c *controller) sendTerminate(n *node, j *job) {
	for _, signal := range terminationSignals {
		c.send(n.link, signalMessage(&agentpb.SignalRanks{JobId: j.id, Signal: int32(signal), EndsJob: true}))
	}
}

// endGrace kills the ranks that SIGTERM has not ended.
func (c *controller) endGrace(j *job) {
	if j.graceUntil != 0 {
		j.graceUntil = 0
		c.becomeEnding(j, j.verdict)
	}
}

// killWait returns the time from SIGTERM to SIGKILL. It includes one turn of the present rotation,
// so that each gang is on at least once.
func (c *controller) killWait() time.Duration {
	wait := time.Duration(c.settings.GetKillWaitNanos())
	if wait == 0 {
		wait = DefaultKillWait
	}
	if len(c.rotation.Rows) > 1 {
		for _, row := range c.rotation.Rows {
			wait += row.Slice
		}
	}
	return wait
}
