// Package neighbours probes the nodes that the leader named as this node's neighbours, and reports
// to the leader those that do not answer. Package failuredetector decides when to probe and when to
// report; this package does the I/O.
package neighbours

import (
	"context"
	"errors"
	"net"
	"score/nodeagent/failuredetector"
	"score/scored/api/agentpb"
	"sync"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

// dialTimeout bounds the test connection that shows whether a neighbour's host answers.
const dialTimeout = 500 * time.Millisecond

// Options are how a watcher reaches its neighbours and the leader.
type Options struct {
	Probe  func(ctx context.Context, node, address string) error
	Send   func(*agentpb.AgentMessage)
	Logger *zap.Logger
}

// Watcher probes the neighbours that the leader named, and reports those that do not answer.
type Watcher struct {
	options Options
	probes  sync.WaitGroup

	mu      sync.Mutex
	machine *failuredetector.Machine
	probing map[string]bool // the neighbours that are being probed
	wake    chan struct{}   // one element: the machine has other neighbours
}

// New returns a watcher without neighbours.
func New(options Options) *Watcher {
	return &Watcher{options: options, machine: failuredetector.New(), probing: make(map[string]bool), wake: make(chan struct{}, 1)}
}

// Watch sets the neighbours.
func (w *Watcher) Watch(order *agentpb.Watch) {
	peers := make([]failuredetector.Peer, 0, len(order.GetNeighbours()))
	for _, n := range order.GetNeighbours() {
		peers = append(peers, failuredetector.Peer{Name: n.GetNode(), Address: n.GetAddress()})
	}
	w.mu.Lock()
	w.machine.Watch(time.Now(), peers)
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Missed makes the watcher probe a neighbour at once, because another detector reports it as
// unreachable. It does not wait.
func (w *Watcher) Missed(node string) {
	w.mu.Lock()
	w.machine.Missed(time.Now(), node)
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// ReportAgain repeats the reports on a new stream to the leader.
func (w *Watcher) ReportAgain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report(w.machine.Suspects())
}

// Run probes until ctx ends, and then waits for the probes under way.
func (w *Watcher) Run(ctx context.Context) {
	defer w.probes.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-timer.C:
		}
		now := time.Now()
		w.mu.Lock()
		w.carryOut(ctx, w.machine.Tick(now))
		next := w.machine.Deadline(now)
		w.mu.Unlock()
		timer.Reset(time.Until(next))
	}
}

// carryOut applies the machine's effects. The caller holds mu.
func (w *Watcher) carryOut(ctx context.Context, effects []failuredetector.Effect) {
	for _, e := range effects {
		if e.Probe == 0 || w.probing[e.Peer.Name] {
			continue // the last probe was not answered yet
		}
		w.probing[e.Peer.Name] = true
		w.probes.Go(func() { w.probe(ctx, e) })
	}
	w.report(effects)
}

func (w *Watcher) report(effects []failuredetector.Effect) {
	for _, e := range effects {
		if e.Probe != 0 {
			continue
		}
		w.options.Logger.Info("a neighbour", zap.String("neighbour", e.Peer.Name), zap.Stringer("found", reachability[e.How]))
		w.options.Send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Suspicion{
			Suspicion: &agentpb.Suspicion{Node: e.Peer.Name, Found: reachability[e.How]},
		}})
	}
}

var reachability = map[failuredetector.How]agentpb.Reachability{
	failuredetector.Fine:        agentpb.Reachability_REACHABILITY_FINE,
	failuredetector.Refused:     agentpb.Reachability_REACHABILITY_REFUSED,
	failuredetector.Hung:        agentpb.Reachability_REACHABILITY_HUNG,
	failuredetector.Unreachable: agentpb.Reachability_REACHABILITY_UNREACHABLE,
}

// probe asks one neighbour whether it is alive.
func (w *Watcher) probe(ctx context.Context, e failuredetector.Effect) {
	how := w.ask(ctx, e.Peer)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.probing, e.Peer.Name)
	if ctx.Err() != nil {
		return
	}
	if how == failuredetector.Fine {
		w.carryOut(ctx, w.machine.Answered(time.Now(), e.Peer.Name, e.Probe))
		return
	}
	w.carryOut(ctx, w.machine.Failed(time.Now(), e.Peer.Name, e.Probe, how))
}

func (w *Watcher) ask(ctx context.Context, peer failuredetector.Peer) failuredetector.How {
	err := w.options.Probe(ctx, peer.Name, peer.Address)
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeCanceled, connect.CodeUnknown:
	case connect.CodeNotFound:
		return failuredetector.Refused // another node has the address
	default:
		return failuredetector.Fine // any other answer shows that it is alive
	}
	if err == nil {
		return failuredetector.Fine
	}
	// There was no answer. Find out whether the host is there and anybody listens.
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", peer.Address)
	switch {
	case err == nil:
		conn.Close()
		return failuredetector.Hung
	case errors.Is(err, syscall.ECONNREFUSED):
		return failuredetector.Refused
	default:
		return failuredetector.Unreachable
	}
}
