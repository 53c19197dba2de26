// Package peers calls the other agents of the cluster.
package peers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"score/nodeagent/fence"
	"score/nodeagent/wait"
	"score/scored/api"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/pki"
	"score/scored/api/transport/h2"
	"time"

	"connectrpc.com/connect"
)

const (
	// maxMessage bounds a received message; the largest is the data of a collective.
	maxMessage = fence.MaxBytes + 1<<20
	// collectRetryTimeout is how long a step of a collective is sent again before its receiver
	// counts as lost. The receiving agent may be restarting; the leader gives it 10 s for that
	// before it ends the job.
	collectRetryTimeout = 15 * time.Second
	// collectPause is the time between two tries.
	collectPause = 100 * time.Millisecond
	// collectTimeout bounds one try: the largest data on a slow network.
	collectTimeout = 30 * time.Second
	// fetchStall is the time without a byte after which the transfer of a file is given up, so that
	// the caller can ask another node.
	fetchStall = 5 * time.Second
	// probeTimeout is how long a neighbour may take to answer a probe.
	probeTimeout = time.Second
)

// Clients calls the other agents, over one connection for each address.
type Clients struct {
	local bool // the cluster is on one host
	// Expect allows calls to an address if the node shows its own certificate there.
	Expect  func(address, node string)
	client  *http.Client
	clients *h2.Clients[agentpbconnect.PeerServiceClient]
}

// ClientOptions returns the options of every client in this agent. Nothing is compressed: messages
// are small or incompressible, and compressing output would take CPU time from the ranks.
func ClientOptions() []connect.ClientOption {
	return []connect.ClientOption{
		connect.WithAcceptCompression("gzip", nil, nil),
		connect.WithReadMaxBytes(maxMessage),
	}
}

// HandlerOptions returns the options of every service in this agent.
func HandlerOptions() []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithCompression("gzip", nil, nil),
		connect.WithReadMaxBytes(maxMessage),
		api.JSON(),
	}
}

// New returns clients without connections. local is set if the cluster is on one host.
func New(credentials *pki.Credentials, local bool) *Clients {
	client, options := h2.NewClient(credentials, pki.Agent), ClientOptions()
	return &Clients{
		local:  local,
		Expect: credentials.ExpectAgent,
		client: client,
		clients: h2.NewClients(func(address string) agentpbconnect.PeerServiceClient {
			return agentpbconnect.NewPeerServiceClient(client, "https://"+address, options...)
		}),
	}
}

// ErrForeign means that the address is on another host, in a cluster of one host.
var ErrForeign = errors.New("a cluster without certificates is one host's")

// mayCall refuses addresses on other hosts if the cluster is on one host. Its error wraps
// ErrForeign.
func (c *Clients) mayCall(address string) error {
	if !c.local {
		return nil
	}
	if err := api.CheckLoopback(address); err != nil {
		return fmt.Errorf("%w: address = %w", ErrForeign, err)
	}
	return nil
}

// Collect delivers one step of a collective. It tries again while nobody answers, since delivering
// a step twice is harmless.
func (c *Clients) Collect(ctx context.Context, address string, request *agentpb.CollectRequest) (err error) {
	if err = c.mayCall(address); err != nil {
		return err
	}
	for limit := time.Now().Add(collectRetryTimeout); ; wait.Sleep(ctx, collectPause) {
		err = c.collectOnce(ctx, address, request)
		if err == nil || !unanswered(err) || time.Now().After(limit) || ctx.Err() != nil {
			break
		}
	}
	if refused, ok := errors.AsType[*connect.Error](err); ok {
		return errors.New(refused.Message())
	}
	return err
}

// unanswered reports whether the call failed without an answer: the peer was not there, or died
// meanwhile.
func unanswered(err error) bool {
	return !connect.IsWireError(err) || connect.CodeOf(err) == connect.CodeUnavailable
}

func (c *Clients) collectOnce(ctx context.Context, address string, request *agentpb.CollectRequest) error {
	ctx, cancel := context.WithTimeout(ctx, collectTimeout)
	defer cancel()
	_, err := c.clients.At(address).Collect(ctx, connect.NewRequest(request))
	return err
}

// Relay delivers a message between stewards. It does not try again: stewards repeat messages that
// do not arrive.
func (c *Clients) Relay(ctx context.Context, address string, request *agentpb.RelayRequest) error {
	if err := c.mayCall(address); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, collectTimeout)
	defer cancel()
	_, err := c.clients.At(address).Relay(ctx, connect.NewRequest(request))
	if connect.CodeOf(err) == connect.CodeNotFound {
		return fmt.Errorf("%w: %w", ErrNoPart, err)
	}
	return err
}

// Close closes idle connections.
func (c *Clients) Close() { c.client.CloseIdleConnections() }

// ErrNoPart means that the job has no part on the node and will not get one. It is final, since a
// restarted agent adopts its jobs before it answers anybody.
var ErrNoPart = errors.New("the job has no part on this node")

// Gossip delivers a failure to another agent.
func (c *Clients) Gossip(ctx context.Context, address string, request *agentpb.GossipRequest) error {
	if err := c.mayCall(address); err != nil {
		return err
	}
	_, err := c.clients.At(address).Gossip(ctx, connect.NewRequest(request))
	return err
}

// FetchStaged reads a file from another agent, beginning at the request's offset. It fails after
// fetchStall without a byte.
func (c *Clients) FetchStaged(ctx context.Context, address string, request *agentpb.FetchStagedRequest, to io.Writer) error {
	if err := c.mayCall(address); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stall := time.AfterFunc(fetchStall, cancel)
	defer stall.Stop()
	stream, err := c.clients.At(address).FetchStaged(ctx, connect.NewRequest(request))
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }() // all that is wanted has come
	for stream.Receive() {
		stall.Reset(fetchStall)
		if _, err := to.Write(stream.Msg().GetData()); err != nil {
			return err
		}
	}
	return stream.Err()
}

// Probe asks the agent at an address whether it is the named node.
func (c *Clients) Probe(ctx context.Context, name, address string) error {
	if err := c.mayCall(address); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err := c.clients.At(address).Probe(ctx, connect.NewRequest(&agentpb.ProbeRequest{Node: name}))
	return err
}
