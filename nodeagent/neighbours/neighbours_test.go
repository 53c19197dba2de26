package neighbours

import (
	"context"
	"errors"
	"net"
	"score/nodeagent/failuredetector"
	"score/scored/api/agentpb"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

func code(c connect.Code) error { return connect.NewError(c, errors.New("so it is")) }

// How a neighbour fails is told from its answer, or from its host's.
func TestNeighbourFailures(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name    string
		ctx     context.Context
		address string
		answer  error
		want    failuredetector.How
	}{
		{name: "it answers", want: failuredetector.Fine},
		{name: "it refuses", answer: code(connect.CodePermissionDenied), want: failuredetector.Fine},
		{name: "another node has its address", answer: code(connect.CodeNotFound), want: failuredetector.Refused},
		{name: "its host listens", address: silent.Addr().String(), answer: code(connect.CodeDeadlineExceeded), want: failuredetector.Hung},
		{name: "an error without a code", address: silent.Addr().String(), answer: errors.New("broken"), want: failuredetector.Hung},
		{name: "nobody listens", address: closed.Addr().String(), answer: code(connect.CodeUnavailable), want: failuredetector.Refused},
		{name: "its host is away", ctx: ended, address: silent.Addr().String(), answer: code(connect.CodeUnavailable), want: failuredetector.Unreachable},
	}
	for _, test := range tests {
		w := New(Options{Probe: func(_ context.Context, node, address string) error {
			if node != "n2" || address != test.address {
				t.Errorf("%s: asked %s at %s", test.name, node, address)
			}
			return test.answer
		}})
		ctx := test.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		if got := w.ask(ctx, failuredetector.Peer{Name: "n2", Address: test.address}); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// neighbour is one whose answers the test sets.
type neighbour struct {
	mu     sync.Mutex
	answer error
	block  chan struct{} // nil: it answers at once
	probes int
	sent   []string
}

func (n *neighbour) probe(ctx context.Context, _, _ string) error {
	n.mu.Lock()
	n.probes++
	answer, block := n.answer, n.block
	n.mu.Unlock()
	if block != nil {
		<-block
	}
	return answer
}

func (n *neighbour) send(m *agentpb.AgentMessage) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sent = append(n.sent, m.GetSuspicion().GetNode()+" "+m.GetSuspicion().GetFound().String())
}

func (n *neighbour) set(answer error, block chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answer, n.block = answer, block
}

// after lets time pass, and returns what the leader was sent meanwhile.
func (n *neighbour) after(d time.Duration) (probes int, sent []string) {
	time.Sleep(d) // virtual
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	probes, sent, n.probes, n.sent = n.probes, n.sent, 0, nil
	return probes, sent
}

// watch runs a watcher of one neighbour in virtual time.
func watch(t *testing.T, test func(t *testing.T, n *neighbour, w *Watcher)) {
	synctest.Test(t, func(t *testing.T) {
		n := &neighbour{}
		w := New(Options{Probe: n.probe, Send: n.send, Logger: zap.NewNop()})
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() {
			defer close(over)
			w.Run(ctx)
		}()
		w.Watch(&agentpb.Watch{Neighbours: []*agentpb.Watch_Neighbour{{Node: "n2", Address: "127.0.0.1:1"}}})
		test(t, n, w)
		cancel()
		<-over
	})
}

func TestALossIsReportedOnceAndOnEachStream(t *testing.T) {
	watch(t, func(t *testing.T, n *neighbour, w *Watcher) {
		if probes, sent := n.after(10 * failuredetector.ProbeEvery); probes < 10 || sent != nil {
			t.Errorf("while it answers: %d probes, sent %q", probes, sent)
		}
		n.set(code(connect.CodeNotFound), nil)
		if _, sent := n.after(failuredetector.SuspectAfter / 2); sent != nil {
			t.Errorf("at once: %q", sent)
		}
		lost := []string{"n2 REACHABILITY_REFUSED"}
		if _, sent := n.after(2 * failuredetector.SuspectAfter); !slices.Equal(sent, lost) {
			t.Errorf("after the loss: %q", sent)
		}
		w.ReportAgain()
		if _, sent := n.after(0); !slices.Equal(sent, lost) {
			t.Errorf("on a new stream: %q", sent)
		}
		n.set(nil, nil)
		if _, sent := n.after(2 * failuredetector.ProbeEvery); !slices.Equal(sent, []string{"n2 REACHABILITY_FINE"}) {
			t.Errorf("when it is back: %q", sent)
		}
		w.ReportAgain()
		if _, sent := n.after(0); sent != nil {
			t.Errorf("when it is back, on a new stream: %q", sent)
		}
		w.Watch(&agentpb.Watch{})
		n.after(failuredetector.ProbeEvery) // a probe may have been under way
		if probes, _ := n.after(10 * failuredetector.ProbeEvery); probes != 0 {
			t.Errorf("%d probes of a neighbour that is watched no longer", probes)
		}
	})
}

// A probe that is not answered yet is not repeated.
func TestOneProbeAtATime(t *testing.T) {
	watch(t, func(t *testing.T, n *neighbour, w *Watcher) {
		block := make(chan struct{})
		defer close(block)
		n.set(code(connect.CodeNotFound), block)
		n.after(failuredetector.ProbeEvery)
		if probes, sent := n.after(10 * failuredetector.ProbeEvery); probes != 0 || sent != nil {
			t.Errorf("%d more probes, sent %q", probes, sent)
		}
	})
}
