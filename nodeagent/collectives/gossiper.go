package collectives

import (
	"context"
	"fmt"
	"score/nodeagent/gossip"
	"score/nodeagent/metrics"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	// gossipTimeout bounds the call that reports a failure to another node. It is not repeated,
	// since other nodes report the failure, too.
	gossipTimeout = 2 * time.Second
	// leaderTimeout is how long the leader, which knows the cause best, has to end a job that has
	// lost a rank or a node. After that the job's fences, which can never complete, end here with
	// the reason.
	leaderTimeout = time.Second
)

// gossiper spreads the failures of one job among its nodes, see package gossip.
type gossiper struct {
	group *Group

	mu      sync.Mutex
	machine *gossip.Machine
}

func newGossiper(g *Group) *gossiper {
	machine, _ := gossip.New(len(g.order.GetPlaces()), int(g.order.GetNodeIndex())) // the order has a place for this node
	return &gossiper{group: g, machine: machine}
}

// learn spreads a failure that this node has found.
func (g *gossiper) learn(kind gossip.Kind, node int, rank uint32, reason string) {
	if len(reason) > gossip.MaxReason {
		reason = reason[:gossip.MaxReason]
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.carryOut(g.machine.Learn(gossip.Item{Kind: kind, Node: node, Rank: rank, Reason: reason}))
}

// rankExited spreads the end of a rank that ends its gang.
func (g *gossiper) rankExited(m *agentpb.RankExited) {
	if m.GetByUs() || m.GetSurvived() || m.GetSignal() == 0 && !m.GetBeforeFinalize() && !m.GetOutOfMemory() {
		return
	}
	how := "left without calling MPI_Finalize"
	switch {
	case m.GetOutOfMemory():
		how = "exceeded the job's memory limit"
	case m.GetSignal() != 0:
		how = fmt.Sprintf("was killed by signal %d", m.GetSignal())
	}
	g.learn(gossip.RankFailed, int(g.group.order.GetNodeIndex()), m.GetRank(),
		fmt.Sprintf("rank %d on node %s %s", m.GetRank(), g.group.options.Node, how))
}

// rankFailure spreads the failure or the new start of a rank while the job goes on.
func (g *gossiper) rankFailure(m *stewardpb.RankFailure) {
	item := gossip.Item{
		Kind:        gossip.RankLost,
		Node:        int(g.group.order.GetNodeIndex()),
		Rank:        m.GetRank(),
		Incarnation: m.GetIncarnation(),
		Fences:      m.GetFences(),
	}
	if item.Incarnation != 0 {
		item.Kind = gossip.RankReborn
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.carryOut(g.machine.Learn(item))
}

// carryOut applies the machine's effects. The caller holds mu.
func (g *gossiper) carryOut(effects []gossip.Effect) {
	for _, e := range effects {
		if e.Deliver {
			g.deliver(e.Item)
			continue
		}
		g.group.options.Go(func() { g.send(e.To, e.Item) })
	}
}

func (g *gossiper) send(to int, item gossip.Item) {
	group := g.group
	ctx, cancel := context.WithTimeout(group.options.Context, gossipTimeout)
	defer cancel()
	err := group.options.Peers.Gossip(ctx, group.order.GetPlaces()[to].GetAddress(), &agentpb.GossipRequest{
		JobId: group.order.GetJobId(), Attempt: group.order.GetAttempt(), FromNodeIndex: group.order.GetNodeIndex(),
		Kind: uint32(item.Kind), NodeIndex: uint32(item.Node), Rank: item.Rank, Reason: item.Reason, Incarnation: item.Incarnation, Fences: item.Fences,
	})
	if err != nil && group.options.Context.Err() == nil {
		group.options.Logger.Debug(
			"a failure could not be reported",
			zap.Uint64("job", group.order.GetJobId()),
			zap.String("peer", group.order.GetPlaces()[to].GetNode()),
			zap.Error(err),
		)
	}
}

// deliver notifies the ranks here: their fences end, and they get events that they have asked for.
func (g *gossiper) deliver(item gossip.Item) {
	group := g.group
	group.options.Metrics.Add(metrics.FailuresReceived, 1)
	if item.Kind == gossip.RankLost || item.Kind == gossip.RankReborn {
		if steward := group.options.Steward(); steward != nil {
			// A lost steward ends the job.
			_ = steward.RankFailure(&stewardpb.RankFailure{Rank: item.Rank, Incarnation: item.Incarnation, Fences: item.Fences})
		}
		return
	}
	group.options.Logger.Info(
		"a job has failed elsewhere",
		zap.Uint64("job", group.order.GetJobId()),
		zap.String("peer", group.order.GetPlaces()[item.Node].GetNode()),
		zap.String("reason", item.Reason),
	)
	if steward := group.options.Steward(); steward != nil && item.Kind == gossip.PartLost {
		// A lost steward ends the job.
		_ = steward.PartLost(&stewardpb.PartLost{NodeIndex: uint32(item.Node), Reason: item.Reason})
	}
	group.options.Go(func() {
		if group.options.Ends(leaderTimeout) || group.options.Context.Err() != nil {
			return
		}
		group.exchange.nodeLost(item.Node, item.Reason)
	})
}

// receive handles a failure that another node reports.
func (g *gossiper) receive(m *agentpb.GossipRequest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.carryOut(g.machine.Receive(int(m.GetFromNodeIndex()), gossip.Item{
		Kind: gossip.Kind(m.GetKind()), Node: int(m.GetNodeIndex()), Rank: m.GetRank(), Reason: m.GetReason(),
		Incarnation: m.GetIncarnation(), Fences: m.GetFences(),
	}))
}
