package collectives

import (
	"fmt"
	"score/nodeagent/fence"
	"score/nodeagent/gossip"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
	"sync"

	"go.uber.org/zap"
)

// exchange runs a job's collectives: it transports messages between its nodes and the machine of
// package fence.
type exchange struct {
	group *Group

	mu sync.Mutex
	// machine is nil if the job cannot have one; broken is the reason.
	machine fence.Collective
	broken  error
	// open holds the exchanges to which this node has added its piece and whose results the steward
	// does not have yet.
	open map[fence.Op]bool
	// sent holds the messages of each exchange that have not arrived.
	sent map[fence.Op]*sync.WaitGroup
}

func newExchange(g *Group) *exchange {
	x := &exchange{group: g, open: make(map[fence.Op]bool), sent: make(map[fence.Op]*sync.WaitGroup)}
	algorithm := fence.Algorithm(g.order.GetSpec().GetExchange())
	machine, err := fence.New(len(g.order.GetPlaces()), int(g.order.GetNodeIndex()), algorithm)
	if err != nil {
		x.broken = err
		return x
	}
	x.machine = machine
	return x
}

// add adds this node's piece.
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

// receive handles a message of another node of the job.
func (x *exchange) receive(from int, message fence.Message) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.machine != nil {
		x.carryOut(x.machine.Receive(from, message))
	}
}

// nodeLost ends the job's exchanges, because a node cannot be reached.
func (x *exchange) nodeLost(node int, reason string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.machine != nil {
		x.carryOut(x.machine.Lost(node, reason))
	}
}

// carryOut applies the machine's effects. The caller holds mu.
func (x *exchange) carryOut(effects []fence.Effect) {
	for _, effect := range effects {
		switch effect.Kind {
		case fence.Send:
			x.send(effect.To, effect.Message)
		case fence.Done:
			x.onResult(effect.Message)
		case fence.Failed:
			x.fail(effect.Err)
		case fence.Large: // of stewards alone
		}
	}
}

// onResult delivers a result to the steward after this node's messages of the exchange have
// arrived. Once the steward has the result, it does not give its piece to the next agent, which
// therefore could not repeat the messages. The caller holds mu.
func (x *exchange) onResult(m fence.Message) {
	sent := x.sent[m.Op]
	delete(x.sent, m.Op)
	if sent == nil {
		x.deliver(m)
		return
	}
	x.group.options.Go(func() {
		sent.Wait()
		x.mu.Lock()
		defer x.mu.Unlock()
		x.deliver(m)
	})
}

// deliver gives the steward a result, unless the exchanges have failed. The caller holds mu.
func (x *exchange) deliver(m fence.Message) {
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

// requestRepeat asks the other nodes to repeat the messages that they sent to an earlier agent.
func (x *exchange) requestRepeat() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.machine == nil {
		return
	}
	for _, node := range x.machine.Neighbours() {
		x.call(node, &agentpb.CollectRequest{Again: true}, nil)
	}
}

// repeat sends a node that has restarted its messages again.
func (x *exchange) repeat(node int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.machine != nil {
		x.carryOut(x.machine.Repeat(node))
	}
}

// fail reports to the steward why its exchanges cannot complete, which ends the job. The caller
// holds mu.
func (x *exchange) fail(reason error) {
	for op := range x.open {
		x.answer(&stewardpb.CollectiveResult{
			Kind:     uint32(op.Kind),
			Sequence: op.Seq,
			Error:    fmt.Sprintf("node %s: %v", x.group.options.Node, reason),
		})
	}
	clear(x.open)
	clear(x.sent)
	if x.group.order.GetFencesByMessage() { // the stewards may be in an exchange that the agents do not know
		x.answer(&stewardpb.CollectiveResult{Error: fmt.Sprintf("node %s: %v", x.group.options.Node, reason)})
	}
}

func (x *exchange) answer(result *stewardpb.CollectiveResult) {
	if steward := x.group.options.Steward(); steward != nil {
		_ = steward.Collective(result) // a steward that is gone ends the job
	}
}

// send sends a message to another node. The caller holds mu.
func (x *exchange) send(to int, message fence.Message) {
	var sent *sync.WaitGroup
	if x.open[message.Op] {
		if sent = x.sent[message.Op]; sent == nil {
			sent = new(sync.WaitGroup)
			x.sent[message.Op] = sent
		}
	}
	x.call(to, &agentpb.CollectRequest{
		Kind:      uint32(message.Op.Kind),
		Sequence:  message.Op.Seq,
		Algorithm: uint32(message.Via),
		Step:      uint32(message.Step),
		Data:      message.Data,
	}, sent)
}

// call sends another node a request, and ends the exchanges if that fails.
func (x *exchange) call(to int, request *agentpb.CollectRequest, delivered *sync.WaitGroup) {
	place := x.group.order.GetPlaces()[to]
	request.JobId, request.FromNodeIndex = x.group.order.GetJobId(), x.group.order.GetNodeIndex()
	if delivered != nil {
		delivered.Add(1)
	}
	x.group.options.Go(func() {
		if delivered != nil {
			defer delivered.Done()
		}
		err := x.group.options.Peers.Collect(x.group.options.Context, place.GetAddress(), request)
		if err == nil || x.group.options.Context.Err() != nil {
			return
		}
		x.group.options.Logger.Warn(
			"a node of a job cannot be reached",
			zap.Uint64("job", x.group.order.GetJobId()),
			zap.String("peer", place.GetNode()),
			zap.Error(err),
		)
		reason := fmt.Sprintf("node %s cannot be reached at %s: %v", place.GetNode(), place.GetAddress(), err)
		x.nodeLost(to, reason)
		x.group.gossiper.learn(gossip.PartLost, to, 0, reason)
	})
}
