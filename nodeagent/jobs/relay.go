package jobs

import (
	"context"
	"errors"
	"fmt"
	"score/nodeagent/peers"
	"score/nodeagent/steward/stewardpb"
	"score/nodeagent/stewardpool"
	"score/scored/api/agentpb"
	"time"

	"go.uber.org/zap"
)

// onRelay sends a message of the job's steward to the steward of another node or job. Messages may
// overtake each other. A message to a job that is not there is returned; if another message does
// not arrive, the steward gets no acknowledgement.
func (j *Job) onRelay(m *stewardpb.Relay) {
	j.call(j.relays.add(m))
}

// call delivers messages, each by an RPC of its own. After each RPC it delivers the messages that
// have waited for it to end.
func (j *Job) call(messages []*stewardpb.Relay) {
	for _, m := range messages {
		j.options.Go(func() {
			j.deliver(m)
			j.call(j.relays.next(m))
		})
	}
}

func (j *Job) deliver(m *stewardpb.Relay) {
	err := j.jobs.relayTo(j.ctx, m.GetAddress(), &agentpb.RelayRequest{
		JobId: m.GetJobId(), FromJob: j.id, FromNodeIndex: j.order.GetNodeIndex(),
		Data: m.GetData(), Header: m.GetHeader(),
	})
	if err != nil && j.ctx.Err() == nil {
		j.returnRelay(m, err)
	}
}

func (j *Job) returnRelay(m *stewardpb.Relay, err error) {
	j.options.Logger.Debug("a message of a job cannot be delivered", zap.Uint64("job", j.id),
		zap.Uint64("to_job", m.GetJobId()), zap.Uint32("to_node", m.GetNodeIndex()), zap.Error(err))
	refused := errors.Is(err, peers.ErrForeign)
	if !refused && !errors.Is(err, peers.ErrNoPart) {
		return
	}
	if refused {
		m.Refused = err.Error()
	}
	j.withSteward(func(s *stewardpool.Steward) error { return s.RelayFailed(m) })
}

// relayTo delivers a message to the agent at an address. If that is this node, it does so without
// the network.
func (js *Jobs) relayTo(ctx context.Context, address string, request *agentpb.RelayRequest) error {
	if address == js.options.Node.Address {
		return js.relay(ctx, request)
	}
	return js.options.Peers.Relay(ctx, address, request)
}

// relay handles a message for the steward of a job here. Only agents of the cluster can call
// (package access), so the sender is authentic. The leader gives the addresses of a job's nodes
// only to jobs of the same user.
func (js *Jobs) relay(ctx context.Context, request *agentpb.RelayRequest) error {
	j := js.Get(request.GetJobId())
	if j == nil && js.table.MayCome(request.GetJobId(), time.Now()) {
		return fmt.Errorf("job %d has not come to node %s", request.GetJobId(), js.options.Node.Name)
	}
	if j == nil {
		return fmt.Errorf("job %d, node %s: %w", request.GetJobId(), js.options.Node.Name, peers.ErrNoPart)
	}
	if request.GetFromJob() == j.id {
		if err := j.checkCaller(ctx, request.GetFromNodeIndex()); err != nil {
			return err
		}
	}
	if len(request.GetData()) > maxRelay {
		return fmt.Errorf("a message of %d bytes between stewards, the most is %d", len(request.GetData()), maxRelay)
	}
	steward, lost := j.receiver()
	switch {
	case lost:
		return fmt.Errorf("job %d, node %s: its steward has crashed: %w", request.GetJobId(), js.options.Node.Name, peers.ErrNoPart)
	case steward == nil:
		return fmt.Errorf("job %d is not ready on node %s", request.GetJobId(), js.options.Node.Name)
	}
	return steward.Relay(&stewardpb.Relay{
		JobId: request.GetFromJob(), NodeIndex: request.GetFromNodeIndex(), Data: request.GetData(),
		Header: request.GetHeader(),
	})
}

// receiver returns the job's steward, nil before it has one, and whether it is lost.
func (j *Job) receiver() (steward *stewardpool.Steward, lost bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.steward, j.state.Lost()
}
