package leader

import (
	"context"
	"maps"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/scored/idle"
)

// Nodes returns the nodes by name.
func (l *Leader) Nodes(ctx context.Context) (*scorev1.ListNodesResponse, error) {
	return observe(ctx, l, func(c *controller) *scorev1.ListNodesResponse {
		return &scorev1.ListNodesResponse{Nodes: c.nodeViews(), NowNanos: c.now}
	})
}

// Matrix returns the rows and what runs in each.
func (l *Leader) Matrix(ctx context.Context) (*scorev1.GetMatrixResponse, error) {
	return observe(ctx, l, (*controller).matrixView)
}

// Version returns the program's version, the cluster, and the number of its jobs.
func (l *Leader) Version(ctx context.Context) (*scorev1.GetVersionResponse, error) {
	return observe(ctx, l, (*controller).versionView)
}

// Settings returns the cluster's settings.
func (l *Leader) Settings(ctx context.Context) (*scorev1.Settings, error) {
	return observe(ctx, l, func(c *controller) *scorev1.Settings { return c.settings })
}

// SetSettings changes the named fields and returns all settings.
func (l *Leader) SetSettings(ctx context.Context, settings *scorev1.Settings, fields []string) (*scorev1.Settings, error) {
	return decide(ctx, l, func(c *controller) (*scorev1.Settings, error) { return c.setSettings(settings, fields) })
}

// Stats returns counts for the metrics.
func (l *Leader) Stats(ctx context.Context) (Stats, error) {
	return atOnce(ctx, l, func(c *controller) (Stats, error) { return c.snapshotStats(), nil })
}

// Connect starts an agent's stream; serial is the serial number of the agent's certificate, or nil
// without certificates. A refusal is a sentence for the agent's log.
func (l *Leader) Connect(ctx context.Context, hello *agentpb.Hello, serial []byte, link Link) (refusal string, err error) {
	return atOnce(ctx, l, func(c *controller) (string, error) {
		if c.members.isRevoked(serial) {
			return nodeRevoked, nil
		}
		return c.onHello(hello, link), nil
	})
}

// Receive handles a message of a connected agent.
func (l *Leader) Receive(ctx context.Context, node string, link Link, message *agentpb.AgentMessage) error {
	return l.do(ctx, func(c *controller) { c.onMessage(node, link, message) })
}

// Disconnect ends an agent's stream.
func (l *Leader) Disconnect(node string, link Link) {
	l.post(func(c *controller) { c.onLinkLost(node, link) })
}

func (c *controller) snapshotStats() Stats {
	s := c.stats
	s.Ended = maps.Clone(c.stats.Ended)
	s.Rows = len(c.rotation.Rows)
	s.Jobs = make(map[scorev1.JobState]int)
	for _, j := range c.jobs {
		s.Jobs[j.state]++
		if j.hold != nil {
			s.Held++
		}
		if len(j.unmet) > 0 {
			s.Dependent++
		}
		if j.idle != nil && j.idle.shown != idle.Awake {
			s.Idle++
			if j.idle.shown == idle.Deadlocked {
				s.Deadlocked++
			}
		}
	}
	s.NodesUp = c.nodesUp()
	return s
}
