package nodeagent

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"

	"score/nodeagent/failuredetector"
	"score/scored/api/scorev1"
)

const (
	// probePatience is how long a neighbour may take to answer a probe.
	probePatience = time.Second
	// dialPatience is how long its host may take to answer a connection, when it is
	// asked whether it is there at all.
	dialPatience = 500 * time.Millisecond
)

// watcher probes the neighbours that the leader named, as package ring says, and
// tells the leader who does not answer.
type watcher struct {
	agent  *Agent
	probes sync.WaitGroup

	mu      sync.Mutex
	machine *failuredetector.Machine
	flying  map[string]bool // who is being probed
	wake    chan struct{}   // one element: the machine has other neighbours
}

func newWatcher(a *Agent) *watcher {
	return &watcher{agent: a, machine: failuredetector.New(), flying: make(map[string]bool), wake: make(chan struct{}, 1)}
}

// watch takes the neighbours.
func (w *watcher) watch(order *scorev1.Watch) {
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

// tellAgain repeats on a new stream what the leader may not know.
func (w *watcher) tellAgain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell(w.machine.Suspects())
}

// run probes until ctx ends, and waits for what is under way.
func (w *watcher) run(ctx context.Context) {
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

// carryOut does what the machine says. The caller holds mu.
func (w *watcher) carryOut(ctx context.Context, effects []failuredetector.Effect) {
	for _, e := range effects {
		if e.Probe == 0 || w.flying[e.Peer.Name] {
			continue // one that has not been answered yet says enough
		}
		w.flying[e.Peer.Name] = true
		w.probes.Go(func() { w.probe(ctx, e) })
	}
	w.tell(effects)
}

func (w *watcher) tell(effects []failuredetector.Effect) {
	for _, e := range effects {
		if e.Probe != 0 {
			continue
		}
		w.agent.log.Info("a neighbour", zap.String("neighbour", e.Peer.Name), zap.Stringer("found", found[e.How]))
		w.agent.link.Send(&scorev1.AgentMessage{Message: &scorev1.AgentMessage_Suspicion{
			Suspicion: &scorev1.Suspicion{Node: e.Peer.Name, Found: found[e.How]},
		}})
	}
}

var found = map[failuredetector.How]scorev1.Reachability{
	failuredetector.Fine: scorev1.Reachability_REACHABILITY_FINE, failuredetector.Refused: scorev1.Reachability_REACHABILITY_REFUSED,
	failuredetector.Hung: scorev1.Reachability_REACHABILITY_HUNG, failuredetector.Unreachable: scorev1.Reachability_REACHABILITY_UNREACHABLE,
}

// probe asks one neighbour whether it is alive.
func (w *watcher) probe(ctx context.Context, e failuredetector.Effect) {
	how := w.ask(ctx, e.Peer)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.flying, e.Peer.Name)
	if ctx.Err() != nil {
		return
	}
	if how == failuredetector.Fine {
		w.carryOut(ctx, w.machine.Answered(time.Now(), e.Peer.Name, e.Probe))
		return
	}
	w.carryOut(ctx, w.machine.Failed(time.Now(), e.Peer.Name, e.Probe, how))
}

func (w *watcher) ask(ctx context.Context, peer failuredetector.Peer) failuredetector.How {
	err := w.agent.peers.probe(ctx, peer)
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeCanceled, connect.CodeUnknown:
	case connect.CodeNotFound:
		return failuredetector.Refused // another node has the address
	default:
		return failuredetector.Fine // whatever it says, it lives
	}
	if err == nil {
		return failuredetector.Fine
	}
	// Whatever kept the answer away: is the host there, and does anybody listen?
	dialer := net.Dialer{Timeout: dialPatience}
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

// probe asks the agent at an address.
func (p *peers) probe(ctx context.Context, peer failuredetector.Peer) error {
	if err := p.mayCall(peer.Address); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	_, err := p.at(peer.Address).Probe(ctx, connect.NewRequest(&scorev1.ProbeRequest{Node: peer.Name}))
	return err
}

// Probe implements scorev1connect.PeerServiceHandler.
func (a peerService) Probe(_ context.Context, request *connect.Request[scorev1.ProbeRequest]) (*connect.Response[scorev1.ProbeResponse], error) {
	if node := request.Msg.GetNode(); node != a.options.Name {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("this is not node "+node))
	}
	return connect.NewResponse(&scorev1.ProbeResponse{}), nil
}
