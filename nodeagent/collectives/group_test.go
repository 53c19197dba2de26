package collectives

import (
	"context"
	"errors"
	"fmt"
	"score/nodeagent/fence"
	"score/nodeagent/metrics"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
)

var errAway = errors.New("nobody answers")

// job is a job on some nodes, whose addresses are their indexes. It is their network, too.
type job struct {
	groups   []*Group
	results  [][]string // by node, what its steward has got
	away     map[string]bool
	leader   bool // it ends the job in time
	requests []func()
}

func newJob(nodes int, change func(*agentpb.Prepare)) *job {
	w := &job{groups: make([]*Group, nodes), results: make([][]string, nodes), away: make(map[string]bool)}
	for i := range nodes {
		w.restart(i, change)
	}
	return w
}

// restart makes the group of a node, without what that knew before.
func (w *job) restart(node int, change func(*agentpb.Prepare)) {
	order := &agentpb.Prepare{JobId: 1, NodeIndex: uint32(node), Spec: &scorev1.JobSpec{}}
	for i := range w.groups {
		order.Places = append(order.Places, &scorev1.NodePlace{Node: fmt.Sprintf("n%d", i), Address: fmt.Sprint(i)})
	}
	if change != nil {
		change(order)
	}
	w.groups[node] = New(order, Options{
		Node: fmt.Sprintf("n%d", node), Context: context.Background(), Peers: w, Logger: zap.NewNop(),
		Go:      func(f func()) { w.requests = append(w.requests, f) },
		Metrics: metrics.New("n", func() metrics.Gauges { return metrics.Gauges{} }),
		Steward: func() Steward { return steward{w, node} },
		Ends:    func(time.Duration) bool { return w.leader },
	})
}

// Collect implements Peers.
func (w *job) Collect(_ context.Context, address string, request *agentpb.CollectRequest) error {
	if w.away[address] {
		return errAway
	}
	return w.groups[address[0]-'0'].Collect(request)
}

// Gossip implements Peers.
func (w *job) Gossip(_ context.Context, address string, request *agentpb.GossipRequest) error {
	if w.away[address] {
		return errAway
	}
	w.groups[address[0]-'0'].Receive(request)
	return nil
}

// run makes all calls, the calls that they cause included.
func (w *job) run() {
	for len(w.requests) > 0 {
		next := w.requests[0]
		w.requests = w.requests[1:]
		next()
	}
}

// messages takes what the steward of a node has got.
func (w *job) messages(node int) (got []string) {
	got, w.results[node] = w.results[node], nil
	return got
}

type steward struct {
	job  *job
	node int
}

func (s steward) record(format string, args ...any) error {
	s.job.results[s.node] = append(s.job.results[s.node], fmt.Sprintf(format, args...))
	return nil
}

func (s steward) Collective(m *stewardpb.CollectiveResult) error {
	if m.GetError() != "" {
		return s.record("%d failed: %s", m.GetSequence(), m.GetError())
	}
	return s.record("%d: %s", m.GetSequence(), m.GetData())
}

func (s steward) RankFailure(m *stewardpb.RankFailure) error {
	return s.record("rank %d incarnation %d", m.GetRank(), m.GetIncarnation())
}

func (s steward) PartLost(m *stewardpb.PartLost) error {
	return s.record("lost n%d: %s", m.GetNodeIndex(), m.GetReason())
}

func op(seq uint64) fence.Op { return fence.Op{Kind: 0, Seq: seq} }

// addAll has nodes give their pieces.
func (w *job) addAll(seq uint64, nodes ...int) {
	for _, i := range nodes {
		w.groups[i].Add(op(seq), fmt.Appendf(nil, "%c%d", 'a'+i, seq))
	}
	w.run()
}

func TestOneNodeHasNoGroup(t *testing.T) {
	g := New(&agentpb.Prepare{Places: []*scorev1.NodePlace{{}}}, Options{})
	if g != nil {
		t.Error("a job of one node has a group")
	}
	g.RequestRepeat()
	g.PartLost(0, "")
	g.RankExited(&agentpb.RankExited{})
	g.RankFailure(&stewardpb.RankFailure{})
}

func TestEachStewardGetsAllPieces(t *testing.T) {
	for _, algorithm := range []fence.Algorithm{fence.Auto, fence.TreeAlgorithm, fence.RingAlgorithm, fence.BruckAlgorithm} {
		w := newJob(3, func(order *agentpb.Prepare) { order.Spec.Exchange = scorev1.ExchangeMode(algorithm) })
		for seq := uint64(1); seq <= 2; seq++ {
			w.addAll(seq, 0, 1)
			if got := slices.Concat(w.messages(0), w.messages(1), w.messages(2)); got != nil {
				t.Errorf("%s: before the last piece: %q", algorithm, got)
			}
			w.addAll(seq, 2)
			want := []string{fmt.Sprintf("%d: [a%d b%d c%d]", seq, seq, seq, seq)}
			for i := range 3 {
				if got := w.messages(i); !slices.Equal(got, want) {
					t.Errorf("%s: node %d: %q", algorithm, i, got)
				}
			}
		}
	}
}

func TestARestartedNodeAsksAgain(t *testing.T) {
	w := newJob(2, nil)
	w.addAll(1, 0)
	w.restart(1, nil) // it had node 0's piece
	w.groups[1].RequestRepeat()
	w.run()
	w.addAll(1, 1)
	for i := range 2 {
		if got := w.messages(i); !slices.Equal(got, []string{"1: [a1 b1]"}) {
			t.Errorf("node %d: %q", i, got)
		}
	}
}

func TestFailures(t *testing.T) {
	const (
		during      = "a node of the job was lost during an exchange: node "
		unreachable = "node n0 cannot be reached at 0: nobody answers"
	)
	tests := []struct {
		name   string
		leader bool
		change func(*agentpb.Prepare)
		fail   func(w *job)
		want   [2][]string // of nodes 0 and 1
	}{
		{name: "a node that cannot be reached ends what is open", fail: func(w *job) {
			w.away["0"] = true
			w.addAll(1, 1)
		}, want: [2][]string{nil, {"1 failed: node n1: " + during + "0: " + unreachable, "lost n0: " + unreachable}}},
		{name: "the leader ends the job first", leader: true, fail: func(w *job) {
			w.addAll(1, 0)
			w.groups[1].PartLost(2, "it is gone")
		}, want: [2][]string{{"lost n2: it is gone"}, {"lost n2: it is gone"}}},
		{name: "there is no leader", fail: func(w *job) {
			w.addAll(1, 0)
			w.groups[1].PartLost(2, "it is gone")
		}, want: [2][]string{{"lost n2: it is gone", "1 failed: node n0: " + during + "2: it is gone"}, {"lost n2: it is gone"}}},
		{name: "stewards that exchange by themselves", change: func(order *agentpb.Prepare) { order.FencesByMessage = true }, fail: func(w *job) {
			w.groups[1].PartLost(2, "it is gone")
		}, want: [2][]string{
			{"lost n2: it is gone", "0 failed: node n0: " + during + "2: it is gone"},
			{"lost n2: it is gone", "0 failed: node n1: " + during + "2: it is gone"},
		}},
		{name: "a rank was killed", fail: func(w *job) {
			w.addAll(1, 0)
			w.groups[1].RankExited(&agentpb.RankExited{Rank: 5, Signal: 11})
		}, want: [2][]string{{"1 failed: node n0: " + during + "1: rank 5 on node n1 was killed by signal 11"}, nil}},
		{name: "a rank left early", fail: func(w *job) {
			w.addAll(1, 0)
			w.groups[1].RankExited(&agentpb.RankExited{Rank: 5, BeforeFinalize: true})
		}, want: [2][]string{{"1 failed: node n0: " + during + "1: rank 5 on node n1 left without calling MPI_Finalize"}, nil}},
		{name: "ends that do not end the gang", fail: func(w *job) {
			w.addAll(1, 0)
			for _, m := range []*agentpb.RankExited{{}, {ExitCode: 1}, {Signal: 9, ByUs: true}, {Signal: 9, Survived: true}} {
				w.groups[1].RankExited(m)
			}
		}},
		{name: "a rank is lost, and comes again", fail: func(w *job) {
			w.groups[1].RankFailure(&stewardpb.RankFailure{Rank: 5})
			w.groups[1].RankFailure(&stewardpb.RankFailure{Rank: 5, Incarnation: 1})
		}, want: [2][]string{{"rank 5 incarnation 0", "rank 5 incarnation 1"}, nil}},
		{name: "a long reason is cut", leader: true, fail: func(w *job) {
			w.groups[1].PartLost(2, strings.Repeat("x", 2000))
		}, want: [2][]string{{"lost n2: " + strings.Repeat("x", 1024)}, {"lost n2: " + strings.Repeat("x", 1024)}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newJob(3, test.change)
			w.leader = test.leader
			test.fail(w)
			w.run()
			for i, want := range test.want {
				got := w.messages(i)
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("node %d: %q, want %q", i, got, want)
				}
			}
		})
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	w := newJob(2, nil)
	for _, request := range []*agentpb.CollectRequest{{Kind: 256}, {Algorithm: 256}} {
		if err := w.groups[0].Collect(request); err == nil {
			t.Errorf("%v is taken", request)
		}
	}
	w.groups[0].Receive(&agentpb.GossipRequest{FromNodeIndex: 7, Kind: 1, NodeIndex: 1})
	w.run()
	if got := w.messages(0); got != nil {
		t.Errorf("the steward got %q", got)
	}
}
