package dataplane

import (
	"score/channels/node"
	"score/ctxswitch"
)

// Network is the switching thread's interface to a job's contexts.
type Network struct{ job *node.Job }

// nodeSteps are the steps of a switch that concern contexts.
var nodeSteps = [...]node.Step{
	ctxswitch.Revoke: node.StepRevoke, ctxswitch.Flush: node.StepFlush,
	ctxswitch.Save: node.StepSave, ctxswitch.Load: node.StepLoad,
}

// Order begins a step. If the step is over at once, Order returns its outcome; otherwise
// Options.Stepped is called at its end. A step that does not concern contexts is over at once, and
// so is any step on a closed plane.
func (n Network) Order(step ctxswitch.Step, number uint64, by int64) (out node.Outcome, over bool) {
	if int(step) >= len(nodeSteps) || nodeSteps[step] == 0 {
		return out, true
	}
	return n.job.Order(nodeSteps[step], number, by)
}

// Contexts returns the number of counted contexts that the job may have on their channels.
func (n Network) Contexts() int { return n.job.Given() }

// Pause reports that the job's processes were ordered to stop: contexts that stay on their channels
// are left alone until Resume. Neither waits.
func (n Network) Pause() { n.job.Pause() }

// Resume reports that the job's processes run again.
func (n Network) Resume() { n.job.Resume() }

// withSwitching adds the callbacks for switching to a job's configuration.
func (p *Plane) withSwitching(config node.JobConfig, job uint64) node.JobConfig {
	if p.options.Connected != nil {
		config.Connected = func(j *node.Job) { p.options.Connected(job, Network{j}) }
	}
	if p.options.Stepped != nil {
		config.Done = func(o node.Outcome) { p.options.Stepped(job, stepOf(o.Step), &o) }
	}
	return config
}

func stepOf(s node.Step) ctxswitch.Step {
	for step, other := range nodeSteps {
		if other == s {
			return ctxswitch.Step(step)
		}
	}
	return ctxswitch.Steady
}
