package nodeagent

import (
	"context"
	"fmt"
	"sync"

	"go.uber.org/zap"

	"score/nodeagent/fence"
	"score/nodeagent/gossip"
	"score/nodeagent/metrics"
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
	// sent are the messages of each that have not arrived.
	sent map[fence.Op]*sync.WaitGroup
}

func newExchange(j *job) *exchange {
	x := &exchange{job: j, open: make(map[fence.Op]bool), sent: make(map[fence.Op]*sync.WaitGroup)}
	machine, err := fence.New(len(j.order.GetPlaces()), int(j.order.GetNodeIndex()), fence.Algorithm(j.order.GetSpec().GetExchange()))
	if err != nil {
		x.broken = err
		return x
	}
	x.machine = machine
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
	if x.machine != nil {
		x.carryOut(x.machine.Lost(node, reason))
	}
}

// carryOut does what the machine says. The caller holds mu.
func (x *exchange) carryOut(effects []fence.Effect) {
	for _, effect := range effects {
		switch effect.Kind {
		case fence.Send:
			x.send(effect.To, effect.Message)
		case fence.Done:
			x.over(effect.Message)
		case fence.Failed:
			x.fail(effect.Err)
		case fence.Large: // of stewards alone
		}
	}
}

// over takes a result. A steward that has it does not ask for it again: this agent may be lost only
// when the others have what it sent for the exchange as well. The caller holds mu.
func (x *exchange) over(m fence.Message) {
	sent := x.sent[m.Op]
	delete(x.sent, m.Op)
	if sent == nil {
		x.done(m)
		return
	}
	x.job.agent.workers.Go(func() {
		sent.Wait()
		x.mu.Lock()
		defer x.mu.Unlock()
		x.done(m)
	})
}

// done gives the steward a result, unless the exchanges have failed meanwhile. The caller holds mu.
func (x *exchange) done(m fence.Message) {
	if !x.open[m.Op] {
		return
	}
	delete(x.open, m.Op)
	delete(x.sent, m.Op) // of repetitions
	x.answer(&stewardpb.CollectiveResult{
		Kind:     uint32(m.Op.Kind),
		Sequence: m.Op.Seq,
		Data:     m.Data,
	})
}

// askAgain has the other nodes repeat what an agent before this one has heard.
func (x *exchange) askAgain() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.machine == nil {
		return
	}
	for _, node := range x.machine.Neighbours() {
		x.carry(node, &scorev1.CollectRequest{Again: true}, nil)
	}
}

// again repeats what a node has forgotten that has restarted.
func (x *exchange) again(node int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.machine != nil {
		x.carryOut(x.machine.Repeat(node))
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
	clear(x.sent)
	if x.job.order.GetFencesByMessage() { // the stewards may be in one of which the agents know nothing
		x.answer(&stewardpb.CollectiveResult{Error: fmt.Sprintf("node %s: %v", x.job.agent.options.Name, reason)})
	}
}

func (x *exchange) answer(result *stewardpb.CollectiveResult) {
	if steward := x.job.stewardOf(); steward != nil {
		_ = steward.Collective(result) // a steward that is gone ends the job
	}
}

// send carries a message to another node. The caller holds mu.
func (x *exchange) send(to int, message fence.Message) {
	var sent *sync.WaitGroup
	if x.open[message.Op] {
		if sent = x.sent[message.Op]; sent == nil {
			sent = new(sync.WaitGroup)
			x.sent[message.Op] = sent
		}
	}
	x.carry(to, &scorev1.CollectRequest{
		Kind:      uint32(message.Op.Kind),
		Sequence:  message.Op.Seq,
		Algorithm: uint32(message.Via),
		Step:      uint32(message.Step),
		Data:      message.Data,
	}, sent)
}

// carry delivers a request to another node, and ends the exchanges if it cannot be reached.
func (x *exchange) carry(to int, request *scorev1.CollectRequest, delivered *sync.WaitGroup) {
	place := x.job.order.GetPlaces()[to]
	request.JobId, request.FromNodeIndex = x.job.id, x.job.order.GetNodeIndex()
	if delivered != nil {
		delivered.Add(1)
	}
	x.job.agent.workers.Go(func() {
		if delivered != nil {
			defer delivered.Done()
		}
		err := x.job.agent.peers.Collect(x.job.ctx, place.GetAddress(), request)
		if err == nil || x.job.ctx.Err() != nil {
			return
		}
		x.job.agent.log.Warn("a node of a job cannot be reached", zap.Uint64("job", x.job.id), zap.String("peer", place.GetNode()), zap.Error(err))
		reason := fmt.Sprintf("node %s cannot be reached at %s: %v", place.GetNode(), place.GetAddress(), err)
		x.lost(to, reason)
		x.job.gossiper.learn(gossip.PartLost, to, 0, reason)
	})
}

// countFences notes what the ranks here have given to fences so far.
func (j *job) countFences(m *scorev1.Fences) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fences.GetFences() >= m.GetFences() {
		return // it is told again
	}
	j.agent.metrics.Add(metrics.CardBytesPlain, m.GetPlainBytes()-min(j.fences.GetPlainBytes(), m.GetPlainBytes()))
	j.agent.metrics.Add(metrics.CardBytesPacked, m.GetPackedBytes()-min(j.fences.GetPackedBytes(), m.GetPackedBytes()))
	j.fences = m
}

// metFences is what countFence has noted last.
func (j *job) metFences() *scorev1.Fences {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.fences
}

// hearCollective takes the piece of this node's ranks.
func (j *job) hearCollective(m *stewardpb.Collective) {
	op := fence.Op{Kind: fence.Kind(m.GetKind()), Seq: m.GetSequence()}
	if !j.order.GetFencesByMessage() { // else the steward counts
		j.countFences(&scorev1.Fences{Fences: m.GetSequence(), PlainBytes: m.GetPlainBytes(), PackedBytes: m.GetPackedBytes()})
	}
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

// hearPartLost spreads that the job's steward cannot reach that of another node.
func (j *job) hearPartLost(m *stewardpb.PartLost) {
	if int64(m.GetNodeIndex()) >= int64(len(j.order.GetPlaces())) {
		return
	}
	j.agent.log.Warn("a node of a job cannot be reached", zap.Uint64("job", j.id),
		zap.String("peer", j.order.GetPlaces()[m.GetNodeIndex()].GetNode()), zap.String("reason", m.GetReason()))
	j.gossiper.learn(gossip.PartLost, int(m.GetNodeIndex()), 0, m.GetReason())
}

// collect takes a step of a collective from another node's agent.
func (a *Agent) collect(ctx context.Context, request *scorev1.CollectRequest) error {
	j := a.jobs.get(request.GetJobId())
	if j == nil || j.exchange == nil {
		return fmt.Errorf("job %d has no part on node %s", request.GetJobId(), a.options.Name)
	}
	if err := j.callsFor(ctx, request.GetFromNodeIndex()); err != nil {
		return err
	}
	if request.GetAgain() {
		j.exchange.again(int(request.GetFromNodeIndex()))
		return nil
	}
	if request.GetKind() > maxKind || request.GetAlgorithm() > maxKind {
		return fmt.Errorf("there is no collective of kind %d, or none of algorithm %d", request.GetKind(), request.GetAlgorithm())
	}
	j.exchange.receive(int(request.GetFromNodeIndex()), fence.Message{
		Op:   fence.Op{Kind: fence.Kind(request.GetKind()), Seq: request.GetSequence()},
		Via:  fence.Algorithm(request.GetAlgorithm()),
		Step: fence.Step(request.GetStep()),
		Data: request.GetData(),
	})
	return nil
}

// maxKind is what a fence.Kind and a fence.Algorithm can hold; the machine knows which there are.
const maxKind = 1<<8 - 1
