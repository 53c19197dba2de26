package nodeagent

import (
	"context"
	"fmt"
	"sync"

	"go.uber.org/zap"

	"score/nodeagent/fence"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/scorev1"
)

// exchange carries the collectives of one job between its nodes: it gives the
// machine that decides (package fence) its messages, and sends what that says.
type exchange struct {
	job *job

	mu sync.Mutex
	// machine is nil when the job cannot have one, for the reason of broken.
	machine fence.Collective
	broken  error
	// open are the exchanges to which this node has added and whose end the
	// steward has not been told.
	open map[fence.Op]bool
}

func newExchange(j *job) *exchange {
	x := &exchange{job: j, open: make(map[fence.Op]bool)}
	tree, err := fence.NewTree(len(j.order.GetPlaces()), int(j.order.GetNodeIndex()))
	if err != nil {
		x.broken = err
		return x
	}
	x.machine = tree
	return x
}

// add gives this node's piece.
func (x *exchange) add(op fence.Op, data []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.open[op] = true
	if x.machine == nil {
		x.fail(x.broken)
		return
	}
	x.carryOut(x.machine.Add(op, data))
}

// receive takes a message of another node of the job.
func (x *exchange) receive(from int, message fence.Message) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.machine != nil {
		x.carryOut(x.machine.Receive(from, message))
	}
}

// lost ends the job's exchanges: a node cannot be reached.
func (x *exchange) lost(node int, reason string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.carryOut(x.machine.Lost(node, reason))
}

// carryOut does what the machine says. The caller holds mu.
func (x *exchange) carryOut(effects []fence.Effect) {
	for _, effect := range effects {
		switch effect.Kind {
		case fence.Send:
			x.send(effect.To, effect.Message)
		case fence.Done:
			delete(x.open, effect.Message.Op)
			x.answer(&stewardpb.CollectiveResult{
				Kind:     uint32(effect.Message.Op.Kind),
				Sequence: effect.Message.Op.Seq,
				Data:     [][]byte{effect.Message.Data},
			})
		case fence.Failed:
			x.fail(effect.Err)
		}
	}
}

// fail tells the steward why what it waits for cannot complete; it ends the
// job. The caller holds mu.
func (x *exchange) fail(reason error) {
	for op := range x.open {
		x.answer(&stewardpb.CollectiveResult{
			Kind:     uint32(op.Kind),
			Sequence: op.Seq,
			Error:    fmt.Sprintf("node %s: %v", x.job.agent.options.Name, reason),
		})
	}
	clear(x.open)
}

func (x *exchange) answer(result *stewardpb.CollectiveResult) {
	if steward := x.job.stewardOf(); steward != nil {
		_ = steward.Collective(result) // a steward that is gone ends the job
	}
}

// send carries a message to another node, and ends the exchanges if it cannot
// be reached.
func (x *exchange) send(to int, message fence.Message) {
	place := x.job.order.GetPlaces()[to]
	request := &scorev1.CollectRequest{
		JobId:         x.job.id,
		Kind:          uint32(message.Op.Kind),
		Sequence:      message.Op.Seq,
		FromNodeIndex: x.job.order.GetNodeIndex(),
		Down:          message.Step == fence.Down,
		Data:          message.Data,
	}
	x.job.agent.workers.Go(func() {
		err := x.job.agent.peers.collect(x.job.ctx, place.GetAddress(), request)
		if err == nil || x.job.ctx.Err() != nil {
			return
		}
		x.job.agent.log.Warn("a node of a job cannot be reached", zap.Uint64("job", x.job.id), zap.String("peer", place.GetNode()), zap.Error(err))
		x.lost(to, fmt.Sprintf("node %s cannot be reached at %s: %v", place.GetNode(), place.GetAddress(), err))
	})
}

// hearCollective takes the piece of this node's ranks.
func (j *job) hearCollective(m *stewardpb.Collective) {
	op := fence.Op{Kind: fence.Kind(m.GetKind()), Seq: m.GetSequence()}
	if j.exchange != nil {
		j.exchange.add(op, m.GetData())
		return
	}
	// One node: its piece is all there is.
	if steward := j.stewardOf(); steward != nil {
		_ = steward.Collective(&stewardpb.CollectiveResult{
			Kind: m.GetKind(), Sequence: m.GetSequence(), Data: [][]byte{m.GetData()},
		})
	}
}

// collect takes a step of a collective from another node's agent.
func (a *Agent) collect(_ context.Context, request *scorev1.CollectRequest) error {
	j := a.jobs.get(request.GetJobId())
	if j == nil || j.exchange == nil {
		return fmt.Errorf("job %d has no part on node %s", request.GetJobId(), a.options.Name)
	}
	if request.GetKind() > maxKind {
		return fmt.Errorf("there is no collective of kind %d", request.GetKind())
	}
	step := fence.Up
	if request.GetDown() {
		step = fence.Down
	}
	j.exchange.receive(int(request.GetFromNodeIndex()), fence.Message{
		Op:   fence.Op{Kind: fence.Kind(request.GetKind()), Seq: request.GetSequence()},
		Step: step,
		Data: request.GetData(),
	})
	return nil
}

// maxKind is what a fence.Kind can hold; the machine knows which there are.
const maxKind = 1<<8 - 1
