package nodeagent

import (
	"net"
	"net/netip"
	"score/channels/node"
	"score/ctxswitch"
	"score/nodeagent/dataplane"
	"score/nodeagent/metrics"
	"score/nodeagent/realtime"
	"score/nodeagent/stewardpool"
	"score/nodeagent/switcher"
	"score/scored/api/scorev1"
	"score/scored/api/transport/handshake"

	"go.uber.org/zap"
)

func (a *Agent) openPlane(at net.Addr) error {
	address, err := netip.ParseAddrPort(at.String())
	if err != nil {
		return err
	}
	a.plane, err = dataplane.Open(dataplane.Options{
		Address:    address,
		Socket:     a.socket,
		Cluster:    a.options.Cluster,
		ClusterKey: a.options.ClusterKey,
		Anywhere:   a.options.Credentials != nil,
		Logger:     handshake.Sampled(a.log), // ranks cause lines as often as they like
		Channels:   a.options.Channels,
		Raise:      a.raise("the thread that drives channels", realtime.DrivePriority),
		Connected: func(job uint64, network dataplane.Network) {
			a.switcher.Connected(ctxswitch.JobID(job), network)
		},
		Stepped: func(job uint64, step ctxswitch.Step, o *node.Outcome) {
			a.switcher.Stepped(ctxswitch.JobID(job), step, o.Number, switcher.Flushes{
				Clean: uint64(o.Flushed), CutOff: uint64(o.CutOff), Held: heldAtSave(o),
			})
		},
	})
	return err
}

// heldAtSave counts a context once in a switch.
func heldAtSave(o *node.Outcome) uint64 {
	if o.Step != node.StepSave {
		return 0
	}
	return uint64(o.Held)
}

func (a *Agent) closePlane() {
	if err := a.plane.Close(); err != nil {
		a.log.Warn("something of the data plane is left", zap.Error(err))
	}
}

// openChannels makes the job known to the data plane, before any node may start it, and
// says where its ranks find that. A job that cannot be there runs without.
func (j *job) openChannels(steward *stewardpool.Steward) (socket string) {
	j.keeper = newKeeper(steward.Socket(), j.id)
	channels, err := j.agent.plane.Add(j.ctx, j.order, steward.Pid(), dataplane.Spares{Keep: j.keeper.keep})
	if err != nil {
		j.agent.log.Warn("a job's programs cannot open channels", zap.Uint64("job", j.id), zap.Error(err))
		return ""
	}
	j.haveChannels(channels)
	return j.agent.plane.Socket()
}

// reopenChannels makes the data plane know a job of a former agent, with the contexts that its
// steward has kept.
func (j *job) reopenChannels() error {
	j.keeper = newKeeper(j.steward.Socket(), j.id)
	kept, err := j.keeper.reopen(j.ctx)
	if err != nil {
		return err
	}
	channels, err := j.agent.plane.Add(j.ctx, j.order, j.steward.Pid(), dataplane.Spares{Keep: j.keeper.keep, Kept: kept})
	if err != nil {
		return err
	}
	j.haveChannels(channels)
	return nil
}

func (j *job) haveChannels(channels *dataplane.Job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.channels = channels
	if j.done != nil {
		channels.Leave(0)
	}
}

// withChannels does something with the job's part of the data plane, if it has one.
func (j *job) withChannels(do func(*dataplane.Job)) {
	j.mu.Lock()
	channels := j.channels
	j.mu.Unlock()
	if channels != nil {
		do(channels)
	}
}

// closeChannels gives them up in the background: the end of the job does not wait. What ranks that
// ended by themselves have sent may still be on its way to ranks of other nodes.
func (j *job) closeChannels() {
	j.withChannels(func(c *dataplane.Job) {
		if j.isKilled() {
			c.Leave(dataplane.LingerKilled)
			return
		}
		c.Rest()
	})
}

// askChannels answers in the background: each channel's driver is asked in turn.
func (a *Agent) askChannels(order *scorev1.AskChannels) {
	a.workers.Go(func() {
		reply := &scorev1.ChannelsReply{Request: order.GetRequest()}
		for _, id := range order.GetJobIds() {
			j := a.jobs.Get(id)
			if j == nil {
				continue
			}
			j.withChannels(func(c *dataplane.Job) {
				if order.GetOneRank() {
					reply.Channels = append(reply.Channels, c.Rank(order.GetRank())...)
					return
				}
				reply.Channels = append(reply.Channels, c.Channels()...)
			})
		}
		a.link.Send(&scorev1.AgentMessage{Message: &scorev1.AgentMessage_Channels{Channels: reply}})
	})
}

// countChannels takes over what the data plane counts, and tells how many contexts there are.
func (a *Agent) countChannels() int {
	totals := a.plane.Totals()
	a.metrics.Set(metrics.DatagramsSent, totals.Port.Sent)
	a.metrics.Set(metrics.DatagramsReceived, totals.Port.Received)
	a.metrics.Set(metrics.DatagramBytesSent, totals.Port.SentBytes)
	a.metrics.Set(metrics.DatagramBytesReceived, totals.Port.ReceivedBytes)
	a.metrics.Set(metrics.DatagramsDropped, totals.Port.Dropped)
	a.metrics.Set(metrics.Drives, totals.Drives)
	return totals.Contexts
}
