package jobs

import (
	"score/nodeagent/dataplane"
	"score/nodeagent/stewardpool"

	"go.uber.org/zap"
)

// openChannels makes the job known to the data plane, before any node may start it, and returns the
// socket for its ranks. If that fails, the job runs without channels.
func (j *Job) openChannels(steward *stewardpool.Steward) (socket string) {
	if j.isKilled() {
		return "" // the job may be forgotten, and its number another job's
	}
	j.spares = newSpareKeeper(steward.Socket(), j.id)
	channels, err := j.options.Plane.Add(j.ctx, j.order, steward.Pid(), dataplane.Spares{Keep: j.spares.keep})
	if err != nil {
		j.options.Logger.Warn("a job's programs cannot open channels", zap.Uint64("job", j.id), zap.Error(err))
		return ""
	}
	j.setChannels(channels)
	return j.options.Plane.Socket()
}

// reopenChannels makes an adopted job known to the data plane, with the contexts that its steward
// has kept.
func (j *Job) reopenChannels() error {
	j.spares = newSpareKeeper(j.steward.Socket(), j.id)
	kept, err := j.spares.reopen(j.ctx)
	if err != nil {
		return err
	}
	channels, err := j.options.Plane.Add(j.ctx, j.order, j.steward.Pid(), dataplane.Spares{Keep: j.spares.keep, Kept: kept})
	if err != nil {
		return err
	}
	j.setChannels(channels)
	return nil
}

func (j *Job) setChannels(channels *dataplane.Job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.channels = channels
	if j.done != nil {
		channels.Leave(0)
	}
}

// withChannels does something with the job's part of the data plane, if it has one.
func (j *Job) withChannels(do func(*dataplane.Job)) {
	j.mu.Lock()
	channels := j.channels
	j.mu.Unlock()
	if channels != nil {
		do(channels)
	}
}

// closeChannels closes the job's channels in the background, so that the end of the job need not
// wait. Messages of ranks that ended by themselves may still be on their way to other nodes.
func (j *Job) closeChannels() {
	j.withChannels(func(c *dataplane.Job) {
		if j.isKilled() {
			c.Leave(dataplane.LingerKilled)
			return
		}
		c.Rest()
	})
}

// awaitNoChannels waits until nothing is left of closed channels, or the agent ends.
func (j *Job) awaitNoChannels() {
	j.withChannels(func(c *dataplane.Job) {
		select {
		case <-c.Gone():
		case <-j.options.Running.Done():
		}
	})
}
