package collectives

import (
	"context"
	"fmt"
	"score/nodeagent/gossip"
	"score/nodeagent/metrics"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/scorev1"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	// gossipTimeout bounds the call that tells another node of a failure. It is not repeated, since
	// others tell that node, too.
	gossipTimeout = 2 * time.Second
	// leaderTimeout is how long the leader, which knows the cause best, has to end a job that has
	// lost a rank or a node. After that the job's fences end here with the reason, because they
	// would never complete.
	leaderTimeout = time.Second
)

// gossiper spreads the failures of one job among its nodes, see package gossip.
type gossiper struct {
	group *Group

	mu      sync.Mutex
	machine *gossip.Machine
}

// newGossiper returns nil for a job of one node, whose steward knows all failures.
func newGossiper(g *Group) *gossiper {
	machine, err := gossip.New(len(g.order.GetPlaces()), int(g.order.GetNodeIndex()))
	if err != nil || len(g.order.GetPlaces()) == 1 {
		return nil
	}
	return &gossiper{group: g, machine: machine}
}

// learn spreads a failure that this node has found.
func (r *gossiper) learn(kind gossip.Kind, node int, rank uint32, reason string) {
	if r == nil {
		return
	}
	if len(reason) > gossip.MaxReason {
		reason = reason[:gossip.MaxReason]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.carryOut(r.machine.Learn(gossip.Item{Kind: kind, Node: node, Rank: rank, Reason: reason}))
}

// rankExited spreads the end of a rank that ends its gang.
func (r *gossiper) rankExited(m *scorev1.RankExited) {
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
	if r != nil {
		r.learn(gossip.RankFailed, int(r.group.order.GetNodeIndex()), m.GetRank(),
			fmt.Sprintf("rank %d on node %s %s", m.GetRank(), r.group.options.Node, how))
	}
}

// rankFailure spreads that a rank has failed, or was started again, while the job goes on.
func (r *gossiper) rankFailure(m *stewardpb.RankFailure) {
	if r == nil {
		return
	}
	item := gossip.Item{
		Kind:        gossip.RankLost,
		Node:        int(r.group.order.GetNodeIndex()),
		Rank:        m.GetRank(),
		Incarnation: m.GetIncarnation(),
		Fences:      m.GetFences(),
	}
	if item.Incarnation != 0 {
		item.Kind = gossip.RankReborn
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.carryOut(r.machine.Learn(item))
}

// carryOut applies the machine's effects. The caller holds mu.
func (r *gossiper) carryOut(effects []gossip.Effect) {
	for _, e := range effects {
		if e.Deliver {
			r.deliver(e.Item)
			continue
		}
		r.group.options.Go(func() { r.send(e.To, e.Item) })
	}
}

func (r *gossiper) send(to int, item gossip.Item) {
	g := r.group
	ctx, cancel := context.WithTimeout(g.options.Context, gossipTimeout)
	defer cancel()
	err := g.options.Peers.Gossip(ctx, g.order.GetPlaces()[to].GetAddress(), &scorev1.GossipRequest{
		JobId: g.order.GetJobId(), Attempt: g.order.GetAttempt(), FromNodeIndex: g.order.GetNodeIndex(),
		Kind: uint32(item.Kind), NodeIndex: uint32(item.Node), Rank: item.Rank, Reason: item.Reason, Incarnation: item.Incarnation, Fences: item.Fences,
	})
	if err != nil && g.options.Context.Err() == nil {
		g.options.Logger.Debug(
			"a failure could not be reported",
			zap.Uint64("job", g.order.GetJobId()),
			zap.String("peer", g.order.GetPlaces()[to].GetNode()),
			zap.Error(err),
		)
	}
}

// deliver informs the ranks here by the end of their fences, and by events if they asked for them.
func (r *gossiper) deliver(item gossip.Item) {
	g := r.group
	g.options.Metrics.Add(metrics.FailuresReceived, 1)
	if item.Kind == gossip.RankLost || item.Kind == gossip.RankReborn {
		if steward := g.options.Steward(); steward != nil {
			_ = steward.RankFailure(&stewardpb.RankFailure{Rank: item.Rank, Incarnation: item.Incarnation, Fences: item.Fences})
		}
		return
	}
	g.options.Logger.Info(
		"a job has failed elsewhere",
		zap.Uint64("job", g.order.GetJobId()),
		zap.String("peer", g.order.GetPlaces()[item.Node].GetNode()),
		zap.String("reason", item.Reason),
	)
	if steward := g.options.Steward(); steward != nil && item.Kind == gossip.PartLost {
		_ = steward.PartLost(&stewardpb.PartLost{NodeIndex: uint32(item.Node), Reason: item.Reason})
	}
	g.options.Go(func() {
		if g.options.Ends(leaderTimeout) || g.options.Context.Err() != nil {
			return
		}
		g.exchange.nodeLost(item.Node, item.Reason)
	})
}

// receive takes a failure from another node.
func (r *gossiper) receive(m *scorev1.GossipRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.carryOut(r.machine.Receive(int(m.GetFromNodeIndex()), gossip.Item{
		Kind: gossip.Kind(m.GetKind()), Node: int(m.GetNodeIndex()), Rank: m.GetRank(), Reason: m.GetReason(),
		Incarnation: m.GetIncarnation(), Fences: m.GetFences(),
	}))
}
