package nodeagent

import (
	"errors"
	"fmt"
	"score/nodeagent/jobstate"
	"score/nodeagent/steward/client"
	"score/nodeagent/steward/stewardpb"
	"score/nodeagent/stewardpool"
	"score/nodeagent/strays"
	"score/scored/api/scorev1"

	"go.uber.org/zap"
)

// errMoved says why a job of several nodes cannot go on.
var errMoved = errors.New(
	"the restarted agent could not have its former address, where the job's other nodes look for it: another process has taken the port; give agent.listen a fixed port below 1024, which only root can take",
)

// placeIn is the part of a job that an order is for; nil if it names none.
func placeIn(order *scorev1.Prepare) *scorev1.NodePlace {
	if places := order.GetPlaces(); int64(order.GetNodeIndex()) < int64(len(places)) {
		return places[order.GetNodeIndex()]
	}
	return nil
}

// adoptAll takes over the jobs that an agent before this one has left. What runs goes on,
// and what stands still does, until a plan says otherwise.
func (a *Agent) adoptAll(orphans []*stewardpool.Orphan) {
	for _, o := range orphans {
		if err := a.adopt(o); err != nil {
			a.log.Warn("a job that a dead agent has left cannot go on; it is ended",
				zap.Uint64("job", o.Status.GetJobId()), zap.Error(err))
			over := make(chan struct{})
			a.endings.Add(o.Status.GetJobId(), over)
			a.workers.Go(func() {
				defer close(over)
				a.pool.Refuse(a.working, o)
				a.dirs.Found(o).Remove()
			})
		}
	}
}

// adopt takes over one job, or gives the reason why it is nobody's.
func (a *Agent) adopt(o *stewardpool.Orphan) error {
	order := o.Status.GetOrder().GetJob()
	if err := a.checkOrder(order); err != nil {
		return err
	}
	stopped, err := o.Stopped()
	if err != nil {
		return err
	}
	j := a.newJob(order)
	j.mark, j.owned = strays.MarkIn(order.GetSpec().GetEnv()), a.dirs.Found(o)
	if !a.jobs.Add(j) {
		j.cancel()
		return errors.New("another steward has the same job")
	}
	a.files.Hold(order)
	a.log.Info("job of a former agent goes on", zap.Uint64("job", j.id), zap.Int("steward", int(o.Status.GetPid())), zap.Bool("stopped", stopped))
	// Nothing is heard before all that hears it is there.
	heard := make(chan struct{})
	j.steward = o.Adopt(client.Events{
		Message: func(m *stewardpb.FromSteward) { <-heard; j.hear(m) },
		Closed:  func(err error) { <-heard; j.stewardGone(err) },
	})
	defer close(heard)
	defer close(j.claimed)
	j.step(jobstate.Adopted)
	j.resume(o, stopped)
	return nil
}

// resume makes the parts of the agent know a job that has its steward.
func (j *job) resume(o *stewardpool.Orphan, stopped bool) {
	status := o.Status
	switch {
	case status.GetDone():
	case status.GetLaunched(), status.GetStarting() && stopped:
		j.handle = j.agent.switcher.Adopt(j.switched(j.steward), stopped)
	default:
		// Ranks that are being forked run; Launched will say that the row may stop them.
		j.handle = j.agent.switcher.Add(j.switched(j.steward))
	}
	switch {
	case len(j.order.GetPlaces()) > 1 && placeIn(j.order).GetAddress() != j.agent.address:
		j.lose(errMoved)
		return
	case status.GetOrder().GetPmSocket() != "":
		if err := j.reopenChannels(); err != nil {
			j.lose(fmt.Errorf("its channels could not be rebuilt: %w", err))
			return
		}
	}
	j.group.AskAgain()
}

// lose ends a job that was found and cannot go on.
func (j *job) lose(reason error) {
	j.agent.log.Warn("a job of a former agent cannot go on", zap.Uint64("job", j.id), zap.Error(reason))
	j.abort(fmt.Sprintf("job %d did not outlive the restart of the agent of node %s: %v; submit it again",
		j.id, j.agent.options.Name, reason))
	j.kill(reason.Error())
}
