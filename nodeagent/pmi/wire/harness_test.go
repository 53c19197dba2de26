package wire

import (
	"fmt"
	"score/nodeagent/fence"
	"score/nodeagent/pmi"
	"slices"
	"testing"
)

// testJob is a job on as many nodes as its description names: a server and a
// tree per node, with messages carried at once and in order.
type testJob struct {
	t       testing.TB
	info    pmi.JobInfo
	servers []*Server
	trees   []*fence.Tree
	// replies holds what each rank has been sent and not read yet.
	replies map[int][]byte
	// others are the effects other than replies, in their order.
	others []Effect
	// onName and onSpawn answer requests; nil leaves them open.
	onName  func(op pmi.NameOp) (ok bool, port string)
	onSpawn func(request *pmi.SpawnRequest) pmi.SpawnResult
}

func newTestJob(t testing.TB, info pmi.JobInfo) *testJob {
	t.Helper()
	j := &testJob{t: t, info: info, replies: make(map[int][]byte)}
	nodes := int(slices.Max(info.RankNode)) + 1
	for node := range nodes {
		info.NodeIndex = node
		engine, err := pmi.NewEngine(info)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := fence.NewTree(nodes, node)
		if err != nil {
			t.Fatal(err)
		}
		j.servers = append(j.servers, NewServer(engine))
		j.trees = append(j.trees, tree)
	}
	return j
}

func (j *testJob) node(rank int) int { return int(j.info.RankNode[rank]) }

func (j *testJob) feed(rank int, text string) {
	j.handle(j.node(rank), j.servers[j.node(rank)].Feed(rank, []byte(text)))
}

func (j *testJob) gone(rank int) pmi.Phase {
	phase, effects := j.servers[j.node(rank)].RankGone(rank)
	j.handle(j.node(rank), effects)
	return phase
}

// take returns and forgets what a rank has been sent.
func (j *testJob) take(rank int) string {
	text := string(j.replies[rank])
	delete(j.replies, rank)
	return text
}

// handle does what the effects of a node's server ask for. They are copied,
// since handling makes further calls.
func (j *testJob) handle(node int, effects []Effect) {
	for _, effect := range slices.Clone(effects) {
		switch effect.Kind {
		case Reply:
			j.replies[effect.Rank] = append(j.replies[effect.Rank], effect.Bytes...)
			continue
		case Event:
			j.carryOut(node, effect.Event)
		default:
		}
		j.others = append(j.others, effect)
	}
}

// carryOut does what an event asks for.
func (j *testJob) carryOut(node int, event *pmi.Event) {
	switch {
	case event.Kind == pmi.EventFenceReady:
		j.carry(node, j.trees[node].Add(fence.Op{Seq: event.Seq}, event.Data))
	case event.Kind == pmi.EventNameOp && j.onName != nil:
		ok, port := j.onName(event.Name)
		j.do(node, func(e *pmi.Engine) { e.NameResult(event.Name.ID, ok, port) })
	case event.Kind == pmi.EventSpawn && j.onSpawn != nil:
		j.do(node, func(e *pmi.Engine) { e.SpawnResult(event.Spawn.ID, j.onSpawn(event.Spawn)) })
	}
}

// do calls f with the engine of a node.
func (j *testJob) do(node int, f func(*pmi.Engine)) {
	j.handle(node, j.servers[node].Do(func(e *pmi.Engine) error { f(e); return nil }))
}

// carry delivers what a node's tree sends.
func (j *testJob) carry(node int, effects []fence.Effect) {
	for _, effect := range slices.Clone(effects) {
		switch effect.Kind {
		case fence.Send:
			j.carry(effect.To, j.trees[effect.To].Receive(node, effect.Message))
		case fence.Done:
			j.handle(node, j.servers[node].Do(func(e *pmi.Engine) error {
				return e.FenceDone(effect.Message.Op.Seq, slices.Concat(effect.Message.Data...))
			}))
		case fence.Failed, fence.Large:
			j.t.Errorf("node %d: %v", node, effect.Err)
		}
	}
}

// only returns the single effect of a kind.
func (j *testJob) only(kind Kind) Effect {
	j.t.Helper()
	var found []Effect
	for _, effect := range j.others {
		if effect.Kind == kind {
			found = append(found, effect)
		}
	}
	if len(found) != 1 {
		j.t.Fatalf("%d effects of kind %d, want one; all: %+v", len(found), kind, j.others)
	}
	return found[0]
}

// nameTable is a name table of its own for a test. lenient lets a publication
// replace one, as the server did that recorded the PMI-2 conversations.
type nameTable struct {
	ports   map[string]string
	lenient bool
}

func (n *nameTable) do(op pmi.NameOp) (bool, string) {
	port, known := n.ports[op.Service]
	switch op.Kind {
	case pmi.NamePublish:
		if known && !n.lenient {
			return false, ""
		}
		n.ports[op.Service] = op.Port
		return true, ""
	case pmi.NameUnpublish:
		delete(n.ports, op.Service)
		return known, ""
	default:
		return known, port
	}
}

// line1 is a line of PMI-1, frame2 a frame of PMI-2.
func line1(text string) string { return text + "\n" }

func frame2(body string) string { return fmt.Sprintf("%-6d%s", len(body), body) }

// oneNode places n ranks on one node.
func oneNode(n int) []int32 { return make([]int32, n) }
