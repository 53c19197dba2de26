package nodeagent

import (
	"net"
	"net/netip"
	"score/channels/node"
	"score/ctxswitch"
	"score/nodeagent/dataplane"
	"score/nodeagent/metrics"
	"score/nodeagent/realtime"
	"score/nodeagent/switcher"
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
		Link:       a.options.Link,
		TIPCType:   a.options.TIPCType,
		Left:       a.watcher.Missed,
		Identity:   a.credentials.Authority().RawSubjectPublicKeyInfo,
		Unseen:     a.onUnseen,
		Raise:      a.raise("the thread that drives channels", realtime.DrivePriority),
		Connected: func(job uint64, network dataplane.Network) {
			a.switcher.Connected(ctxswitch.JobID(job), contexts{network})
		},
		Stepped: func(job uint64, step ctxswitch.Step, o *node.Outcome) {
			a.switcher.Stepped(ctxswitch.JobID(job), step, o.Number, flushesOf(o))
		},
	})
	return err
}

// contexts is a job's network as the switching thread uses it.
type contexts struct{ dataplane.Network }

func (c contexts) Order(step ctxswitch.Step, number uint64, by int64) (switcher.Flushes, bool) {
	out, over := c.Network.Order(step, number, by)
	return flushesOf(&out), over
}

func flushesOf(o *node.Outcome) switcher.Flushes {
	return switcher.Flushes{Clean: uint64(o.Flushed), CutOff: uint64(o.CutOff), Held: heldAtSave(o)}
}

// heldAtSave returns the context's held packets, once in a switch.
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

// countChannels copies the data plane's counters into the metrics, and returns how many contexts
// there are.
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
