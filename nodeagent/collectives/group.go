package collectives

import (
	"context"
	"fmt"
	"score/nodeagent/fence"
	"score/nodeagent/gossip"
	"score/nodeagent/metrics"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
	"time"

	"go.uber.org/zap"
)

// Peers calls the agents at the addresses of other nodes.
type Peers interface {
	Collect(ctx context.Context, address string, request *agentpb.CollectRequest) error
	Gossip(ctx context.Context, address string, request *agentpb.GossipRequest) error
}

// Steward is the job's steward on this node. The methods of a lost steward return errors.
type Steward interface {
	Collective(*stewardpb.CollectiveResult) error
	RankFailure(*stewardpb.RankFailure) error
	PartLost(*stewardpb.PartLost) error
}

// Options are the options of New: the parts of the node and the job that a group needs.
type Options struct {
	Node    string          // name of this node
	Context context.Context // ends when the job is forgotten
	Peers   Peers
	Go      func(func()) // runs a goroutine that acts for the job
	Metrics *metrics.Metrics
	Logger  *zap.Logger
	// Steward is nil before the job has one.
	Steward func() Steward
	// Ends waits for at most within, and reports whether the job is over or being killed.
	Ends func(within time.Duration) bool
}

// Group connects the nodes of one job. It is nil for a job of one node.
type Group struct {
	order    *agentpb.Prepare
	options  Options
	exchange *exchange
	gossiper *gossiper
}

// New returns nil for a job of one node: its steward knows all failures. The order has a place for
// this node.
func New(order *agentpb.Prepare, options Options) *Group {
	if len(order.GetPlaces()) < 2 {
		return nil
	}
	g := &Group{order: order, options: options}
	g.exchange, g.gossiper = newExchange(g), newGossiper(g)
	return g
}

// Add adds this node's piece to a collective; the steward gets the result.
func (g *Group) Add(op fence.Op, data []byte) { g.exchange.add(op, data) }

// RequestRepeat asks the other nodes to repeat the messages that they sent to an earlier agent.
func (g *Group) RequestRepeat() {
	if g != nil {
		g.exchange.requestRepeat()
	}
}

// Collect handles a step of a collective from another node of the job.
func (g *Group) Collect(request *agentpb.CollectRequest) error {
	if request.GetAgain() {
		g.exchange.repeat(int(request.GetFromNodeIndex()))
		return nil
	}
	if request.GetKind() > maxKind || request.GetAlgorithm() > maxKind {
		return fmt.Errorf("there is no collective of kind %d, or none of algorithm %d", request.GetKind(), request.GetAlgorithm())
	}
	g.exchange.receive(int(request.GetFromNodeIndex()), fence.Message{
		Op:   fence.Op{Kind: fence.Kind(request.GetKind()), Seq: request.GetSequence()},
		Via:  fence.Algorithm(request.GetAlgorithm()),
		Step: fence.Step(request.GetStep()),
		Data: request.GetData(),
	})
	return nil
}

// maxKind is the largest number that a fence.Kind or a fence.Algorithm can hold; the machine checks
// them.
const maxKind = 1<<8 - 1

// PartLost spreads the loss of a node's part of the job.
func (g *Group) PartLost(node int, reason string) {
	if g != nil {
		g.gossiper.learn(gossip.PartLost, node, 0, reason)
	}
}

// RankExited spreads the end of a rank here if it ends the gang.
func (g *Group) RankExited(m *agentpb.RankExited) {
	if g != nil {
		g.gossiper.rankExited(m)
	}
}

// RankFailure spreads the failure or the new start of a rank here while the job goes on.
func (g *Group) RankFailure(m *stewardpb.RankFailure) {
	if g != nil {
		g.gossiper.rankFailure(m)
	}
}

// Receive handles a failure that another node of the job reports.
func (g *Group) Receive(m *agentpb.GossipRequest) { g.gossiper.receive(m) }
