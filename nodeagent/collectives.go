package nodeagent

import (
	"context"
	"fmt"
	"score/nodeagent/fence"
	"score/nodeagent/gossip"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/scorev1"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

// hearCollective takes the piece of this node's ranks.
func (j *job) hearCollective(m *stewardpb.Collective) {
	op := fence.Op{Kind: fence.Kind(m.GetKind()), Seq: m.GetSequence()}
	if !j.order.GetFencesByMessage() { // else the steward counts
		j.account.CountFences(&scorev1.Fences{Fences: m.GetSequence(), PlainBytes: m.GetPlainBytes(), PackedBytes: m.GetPackedBytes()})
	}
	if j.group != nil {
		j.group.Add(op, m.GetData())
		return
	}
	// One node: its piece is all there is.
	if steward := j.stewardOf(); steward != nil {
		_ = steward.Collective(&stewardpb.CollectiveResult{
			Kind: m.GetKind(), Sequence: m.GetSequence(), Data: [][]byte{m.GetData()},
		})
	}
}

// hearPartLost spreads that the job's steward cannot reach that of another node.
func (j *job) hearPartLost(m *stewardpb.PartLost) {
	if int64(m.GetNodeIndex()) >= int64(len(j.order.GetPlaces())) {
		return
	}
	j.agent.log.Warn("a node of a job cannot be reached", zap.Uint64("job", j.id),
		zap.String("peer", j.order.GetPlaces()[m.GetNodeIndex()].GetNode()), zap.String("reason", m.GetReason()))
	j.group.PartLost(int(m.GetNodeIndex()), m.GetReason())
}

// collect takes a step of a collective from another node's agent.
func (a *Agent) collect(ctx context.Context, request *scorev1.CollectRequest) error {
	j := a.jobs.Get(request.GetJobId())
	if j == nil || j.group == nil {
		return fmt.Errorf("job %d has no part on node %s", request.GetJobId(), a.options.Name)
	}
	if err := j.callsFor(ctx, request.GetFromNodeIndex()); err != nil {
		return err
	}
	return j.group.Collect(request)
}

// Gossip implements scorev1connect.PeerServiceHandler.
func (a peerService) Gossip(ctx context.Context, request *connect.Request[scorev1.GossipRequest]) (*connect.Response[scorev1.GossipResponse], error) {
	m := request.Msg
	j := a.jobs.Get(m.GetJobId())
	if j == nil || !j.group.Gossips() || j.order.GetAttempt() != m.GetAttempt() {
		return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("job %d has no part on node %s", m.GetJobId(), a.options.Name))
	}
	if err := j.callsFor(ctx, m.GetFromNodeIndex()); err != nil {
		return nil, err
	}
	if m.GetKind() > uint32(gossip.RankReborn) {
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("there is no news of kind %d", m.GetKind()))
	}
	j.group.Receive(m)
	return connect.NewResponse(&scorev1.GossipResponse{}), nil
}
