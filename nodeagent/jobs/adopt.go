package jobs

import (
	"errors"
	"fmt"
	"score/nodeagent/jobstate"
	"score/nodeagent/steward/client"
	"score/nodeagent/steward/stewardpb"
	"score/nodeagent/stewardpool"
	"score/nodeagent/strays"

	"go.uber.org/zap"
)

// errMoved ends an adopted job whose other nodes cannot find this node.
var errMoved = errors.New(
	"the restarted agent could not have its former address, where the job's other nodes look for it: another process has taken the port; give agent.listen a fixed port below 1024, which only root can take",
)

// Adopt takes over the jobs that an earlier agent has left. Until there is a plan, running jobs go
// on and stopped ones stay stopped.
func (js *Jobs) Adopt(orphans []*stewardpool.Orphan) {
	for _, o := range orphans {
		if err := js.adopt(o); err != nil {
			js.options.Logger.Warn("a job that a dead agent has left cannot go on; it is ended",
				zap.Uint64("job", o.Status.GetJobId()), zap.Error(err))
			over := make(chan struct{})
			js.endings.Add(o.Status.GetJobId(), o.Status.GetOrder().GetJob().GetUser().GetUid(), over)
			js.options.Go(func() {
				defer close(over)
				js.options.Pool.Refuse(js.options.Running, o)
				js.options.Dirs.Found(o).Remove()
			})
		}
	}
}

// adopt takes over one job. The error is the reason why that is impossible.
func (js *Jobs) adopt(o *stewardpool.Orphan) error {
	order := o.Status.GetOrder().GetJob()
	if err := js.options.Node.check(order); err != nil {
		return err
	}
	stopped, err := o.Stopped()
	if err != nil {
		return err
	}
	j := js.newJob(order)
	j.mark, j.owned = strays.MarkIn(order.GetSpec().GetEnv()), js.options.Dirs.Found(o)
	if !js.table.Add(j) {
		j.cancel()
		return errors.New("another steward has the same job")
	}
	js.options.Files.Hold(order)
	js.options.Logger.Info("job of a former agent goes on", zap.Uint64("job", j.id), zap.Int("steward", int(o.Status.GetPid())), zap.Bool("stopped", stopped))
	// Messages wait until everything that they need exists.
	ready := make(chan struct{})
	j.steward = o.Adopt(client.Events{
		Message: func(m *stewardpb.FromSteward) { <-ready; j.onMessage(m) },
		Closed:  func(err error) { <-ready; j.onStewardLost(err) },
	})
	defer close(ready)
	defer close(j.claimed)
	j.step(jobstate.Adopted)
	j.resume(o, stopped)
	return nil
}

// resume makes an adopted job known to the switching thread, the data plane and its other nodes.
func (j *Job) resume(o *stewardpool.Orphan, stopped bool) {
	status := o.Status
	switch {
	case status.GetDone():
	case status.GetLaunched(), status.GetStarting() && stopped:
		j.handle = j.options.Switcher.Adopt(j.switcherJob(j.steward), stopped)
	default:
		// Ranks that are being forked run; the plan may stop them after Launched.
		j.handle = j.options.Switcher.Add(j.switcherJob(j.steward))
	}
	switch {
	case len(j.order.GetPlaces()) > 1 && j.place().GetAddress() != j.options.Node.Address:
		j.endAdopted(errMoved)
		return
	case status.GetOrder().GetPmSocket() != "":
		if err := j.reopenChannels(); err != nil {
			j.endAdopted(fmt.Errorf("its channels could not be rebuilt: %w", err))
			return
		}
	}
	j.group.RequestRepeat()
}

// endAdopted ends an adopted job that cannot go on.
func (j *Job) endAdopted(reason error) {
	j.options.Logger.Warn("a job of a former agent cannot go on", zap.Uint64("job", j.id), zap.Error(reason))
	j.abort(fmt.Sprintf("job %d did not outlive the restart of the agent of node %s: %v", j.id, j.options.Node.Name, reason), "submit it again")
	j.kill(reason.Error())
}
