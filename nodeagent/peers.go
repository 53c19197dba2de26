package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"

	"score/nodeagent/fence"
	"score/nodeagent/wait"
	"score/scored/api"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"score/scored/api/transport/h2"
)

const (
	// maxMessage bounds a message that is read; the largest is the data of a
	// collective.
	maxMessage = fence.MaxBytes + 1<<20
	// collectPatience is how long a step of a collective is sent before its
	// receiver is taken for lost: its agent may be starting anew, and the leader gives
	// it 10 s for that before it ends the job.
	collectPatience = 15 * time.Second
	// collectPause is the time between two tries.
	collectPause = 100 * time.Millisecond
	// collectTimeout bounds one of them: the largest data on a slow network.
	collectTimeout = 30 * time.Second
	// stdioPatience is how long an early reader waits for its job to come: a
	// server opens its output when it orders the job, by another stream.
	stdioPatience = 10 * time.Second
)

// peers are the other agents, by address, over one connection each.
type peers struct {
	local   bool // the cluster is one host's
	expect  func(address, node string)
	client  *http.Client
	options []connect.ClientOption

	mu      sync.Mutex
	clients map[string]scorev1connect.PeerServiceClient
}

// clientOptions are those of every connection this agent makes. Messages are
// small or incompressible, and compressing output would cost its ranks CPU.
func clientOptions() []connect.ClientOption {
	return []connect.ClientOption{
		connect.WithAcceptCompression("gzip", nil, nil),
		connect.WithReadMaxBytes(maxMessage),
	}
}

// handlerOptions are those of every service this agent serves.
func handlerOptions() []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithCompression("gzip", nil, nil),
		connect.WithReadMaxBytes(maxMessage),
		api.JSON(),
	}
}

// maxPeerClients bounds the table of clients; the connections below it are the
// transport's, which drops idle ones. A full table is begun anew.
const maxPeerClients = 4096

func newPeers(credentials *pki.Credentials, local bool) *peers {
	return &peers{
		local:   local,
		expect:  credentials.ExpectAgent,
		client:  h2.NewClient(credentials, pki.Agent),
		options: clientOptions(),
		clients: make(map[string]scorev1connect.PeerServiceClient),
	}
}

func (p *peers) at(address string) scorev1connect.PeerServiceClient {
	p.mu.Lock()
	defer p.mu.Unlock()
	client := p.clients[address]
	if client == nil {
		if len(p.clients) == maxPeerClients {
			clear(p.clients)
		}
		client = scorev1connect.NewPeerServiceClient(p.client, "https://"+address, p.options...)
		p.clients[address] = client
	}
	return client
}

// errForeign is wrapped by the refusal to call an address.
var errForeign = errors.New("a cluster without certificates is one host's")

// mayCall refuses addresses of other hosts in a cluster of one. The error wraps errForeign.
func (p *peers) mayCall(address string) error {
	if !p.local {
		return nil
	}
	if err := CheckLoopback("address", address); err != nil {
		return fmt.Errorf("%w: %w", errForeign, err)
	}
	return nil
}

// collect delivers one step of a collective. Delivering it twice is harmless,
// so it is tried again when nobody answered.
func (p *peers) collect(ctx context.Context, address string, request *scorev1.CollectRequest) (err error) {
	if err = p.mayCall(address); err != nil {
		return err
	}
	for limit := time.Now().Add(collectPatience); ; wait.Sleep(ctx, collectPause) {
		err = p.collectOnce(ctx, address, request)
		if err == nil || !unanswered(err) || time.Now().After(limit) || ctx.Err() != nil {
			break
		}
	}
	var refused *connect.Error
	if errors.As(err, &refused) {
		return errors.New(refused.Message())
	}
	return err
}

// unanswered tells that no peer has answered: it was not there, or died over it.
func unanswered(err error) bool {
	return !connect.IsWireError(err) || connect.CodeOf(err) == connect.CodeUnavailable
}

func (p *peers) collectOnce(ctx context.Context, address string, request *scorev1.CollectRequest) error {
	ctx, cancel := context.WithTimeout(ctx, collectTimeout)
	defer cancel()
	_, err := p.at(address).Collect(ctx, connect.NewRequest(request))
	return err
}

// relay delivers a message between stewards, who repeat what does not arrive.
func (p *peers) relay(ctx context.Context, address string, request *scorev1.RelayRequest) error {
	if err := p.mayCall(address); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, collectTimeout)
	defer cancel()
	_, err := p.at(address).Relay(ctx, connect.NewRequest(request))
	if connect.CodeOf(err) == connect.CodeNotFound {
		return fmt.Errorf("%w: %w", errNoPart, err)
	}
	return err
}

// ConfirmOutput implements scorev1connect.PeerServiceHandler.
func (a peerService) ConfirmOutput(_ context.Context, request *connect.Request[scorev1.OutputMark]) (*connect.Response[scorev1.ConfirmOutputResponse], error) {
	if j := a.jobs.get(request.Msg.GetJobId()); j != nil && j.order.GetAttempt() == request.Msg.GetAttempt() {
		if steward := j.stewardOf(); steward != nil {
			_ = steward.Taken(request.Msg.GetSequence()) // a steward that is gone keeps nothing
		}
	}
	return connect.NewResponse(&scorev1.ConfirmOutputResponse{}), nil
}

// PaceOutput implements scorev1connect.PeerServiceHandler.
func (a peerService) PaceOutput(_ context.Context, request *connect.Request[scorev1.PaceOutputRequest]) (*connect.Response[scorev1.PaceOutputResponse], error) {
	if j := a.jobs.get(request.Msg.GetJobId()); j != nil && j.order.GetAttempt() == request.Msg.GetAttempt() {
		if steward := j.stewardOf(); steward != nil {
			_ = steward.Pace(request.Msg.GetBytesPerSecond()) // a steward that is gone reads nothing
		}
	}
	return connect.NewResponse(&scorev1.PaceOutputResponse{}), nil
}

func (p *peers) close() { p.client.CloseIdleConnections() }

// peerService is what the servers and the other agents ask of this one.
type peerService struct{ *Agent }

var _ scorev1connect.PeerServiceHandler = peerService{}

// Collect implements scorev1connect.PeerServiceHandler.
func (a peerService) Collect(ctx context.Context, request *connect.Request[scorev1.CollectRequest]) (*connect.Response[scorev1.CollectResponse], error) {
	if err := a.collect(ctx, request.Msg); err != nil {
		return nil, connect.NewError(connect.CodeFailedPrecondition, err)
	}
	return connect.NewResponse(&scorev1.CollectResponse{}), nil
}

// Relay implements scorev1connect.PeerServiceHandler.
func (a peerService) Relay(ctx context.Context, request *connect.Request[scorev1.RelayRequest]) (*connect.Response[scorev1.RelayResponse], error) {
	err := a.relay(ctx, request.Msg)
	switch {
	case errors.Is(err, errNoPart):
		return nil, connect.NewError(connect.CodeNotFound, err)
	case err != nil:
		return nil, connect.NewError(connect.CodeFailedPrecondition, err)
	}
	return connect.NewResponse(&scorev1.RelayResponse{}), nil
}
