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
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"score/scored/api/transport/h2"
	"sync"
	"time"

	"connectrpc.com/connect"
)

const (
	// maxMessage bounds a message that is read; the largest is the data of a
	// collective.
	maxMessage = fence.MaxBytes + 1<<20
	// collectRetryTimeout is how long a step of a collective is sent before its
	// receiver is taken for lost: its agent may be restarting, and the leader gives
	// it 10 s for that before it ends the job.
	collectRetryTimeout = 15 * time.Second
	// collectPause is the time between two tries.
	collectPause = 100 * time.Millisecond
	// collectTimeout bounds one of them: the largest data on a slow network.
	collectTimeout = 30 * time.Second
	// fetchStall is the time without a byte after which a file is fetched from another node.
	fetchStall = 5 * time.Second
	// probeTimeout is how long a neighbour may take to answer a probe.
	probeTimeout = time.Second
)

// Clients are the other agents, by address, over one connection each.
type Clients struct {
	local bool // the cluster is on one host
	// Expect allows calls of an address, if the node shows its own certificate there.
	Expect  func(address, node string)
	client  *http.Client
	options []connect.ClientOption

	mu      sync.Mutex
	clients map[string]scorev1connect.PeerServiceClient
}

// ClientOptions are those of every connection this agent makes. Messages are
// small or incompressible, and compressing output would cost its ranks CPU.
func ClientOptions() []connect.ClientOption {
	return []connect.ClientOption{
		connect.WithAcceptCompression("gzip", nil, nil),
		connect.WithReadMaxBytes(maxMessage),
	}
}

// HandlerOptions are those of every service this agent serves.
func HandlerOptions() []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithCompression("gzip", nil, nil),
		connect.WithReadMaxBytes(maxMessage),
		api.JSON(),
	}
}

// maxPeerClients bounds the table of clients; the connections below it are the
// transport's, which drops idle ones. A full table is started again.
const maxPeerClients = 4096

// New returns the clients of the other agents; local: the cluster is on one host.
func New(credentials *pki.Credentials, local bool) *Clients {
	return &Clients{
		local:   local,
		Expect:  credentials.ExpectAgent,
		client:  h2.NewClient(credentials, pki.Agent),
		options: ClientOptions(),
		clients: make(map[string]scorev1connect.PeerServiceClient),
	}
}

func (c *Clients) at(address string) scorev1connect.PeerServiceClient {
	c.mu.Lock()
	defer c.mu.Unlock()
	client := c.clients[address]
	if client == nil {
		if len(c.clients) == maxPeerClients {
			clear(c.clients)
		}
		client = scorev1connect.NewPeerServiceClient(c.client, "https://"+address, c.options...)
		c.clients[address] = client
	}
	return client
}

// ErrForeign is wrapped by the refusal to call an address.
var ErrForeign = errors.New("a cluster without certificates is one host's")

// MayCall refuses addresses of other hosts in a cluster of one. The error wraps ErrForeign.
func (c *Clients) MayCall(address string) error {
	if !c.local {
		return nil
	}
	if err := api.CheckLoopback(address, "127.0.0.1 or ::1"); err != nil {
		return fmt.Errorf("%w: address = %w", ErrForeign, err)
	}
	return nil
}

// Collect delivers one step of a collective. Delivering it twice is harmless,
// so it is tried again when nobody answered.
func (c *Clients) Collect(ctx context.Context, address string, request *scorev1.CollectRequest) (err error) {
	if err = c.MayCall(address); err != nil {
		return err
	}
	for limit := time.Now().Add(collectRetryTimeout); ; wait.Sleep(ctx, collectPause) {
		err = c.collectOnce(ctx, address, request)
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

// unanswered reports whether no peer has answered: it was not there, or died meanwhile.
func unanswered(err error) bool {
	return !connect.IsWireError(err) || connect.CodeOf(err) == connect.CodeUnavailable
}

func (c *Clients) collectOnce(ctx context.Context, address string, request *scorev1.CollectRequest) error {
	ctx, cancel := context.WithTimeout(ctx, collectTimeout)
	defer cancel()
	_, err := c.at(address).Collect(ctx, connect.NewRequest(request))
	return err
}

// Relay delivers a message between stewards, who repeat what does not arrive.
func (c *Clients) Relay(ctx context.Context, address string, request *scorev1.RelayRequest) error {
	if err := c.MayCall(address); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, collectTimeout)
	defer cancel()
	_, err := c.at(address).Relay(ctx, connect.NewRequest(request))
	if connect.CodeOf(err) == connect.CodeNotFound {
		return fmt.Errorf("%w: %w", ErrNoPart, err)
	}
	return err
}

// Close closes connections that nobody uses.
func (c *Clients) Close() { c.client.CloseIdleConnections() }

// ErrNoPart is wrapped by the refusal of a message to a job that has no part here, and will have
// none. An agent that starts again takes over its jobs before it answers anybody.
var ErrNoPart = errors.New("the job has no part on this node")

// Gossip delivers one failure.
func (c *Clients) Gossip(ctx context.Context, address string, request *scorev1.GossipRequest) error {
	if err := c.MayCall(address); err != nil {
		return err
	}
	_, err := c.at(address).Gossip(ctx, connect.NewRequest(request))
	return err
}

// FetchStaged gets a file from another agent, from where the request says. It ends after fetchStall
// without a byte.
func (c *Clients) FetchStaged(ctx context.Context, address string, request *scorev1.FetchStagedRequest, to io.Writer) error {
	if err := c.MayCall(address); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stall := time.AfterFunc(fetchStall, cancel)
	defer stall.Stop()
	stream, err := c.at(address).FetchStaged(ctx, connect.NewRequest(request))
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

// Probe asks the agent at an address.
func (c *Clients) Probe(ctx context.Context, name, address string) error {
	if err := c.MayCall(address); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err := c.at(address).Probe(ctx, connect.NewRequest(&scorev1.ProbeRequest{Node: name}))
	return err
}
