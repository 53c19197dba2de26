package replica

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// peerTimeout bounds each step of a call to another replica. After that it is dialed again, so
	// that a restored network is noticed; a disk that takes longer has failed.
	peerTimeout = 3 * time.Second
	// peerPool is the number of idle connections kept for each other replica: heartbeats, entries
	// and votes.
	peerPool = 3
	// nameMark separates name and address in the addresses that Raft dials.
	nameMark = "@"
)

// Network connects the replicas. It accepts connections only from members of the cluster, and
// verifies the name of the server that it dials.
type Network interface {
	net.Listener
	// Dial connects to the named server at host:port.
	Dial(name, address string, timeout time.Duration) (net.Conn, error)
}

// layer makes a Network a raft.StreamLayer.
type layer struct {
	Network
	address peerAddress
}

// Dial implements raft.StreamLayer.
func (l layer) Dial(target raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	name, address, ok := strings.Cut(string(target), nameMark)
	if !ok {
		return nil, fmt.Errorf("%q names no server", target)
	}
	return l.Network.Dial(name, address, timeout)
}

// Addr returns the address at which the others reach this replica.
func (l layer) Addr() net.Addr { return l.address }

type peerAddress string

func (peerAddress) Network() string  { return "tcp" }
func (a peerAddress) String() string { return string(a) }

// peers is Raft's transport between replicas. It dials by name and address: if another server
// answered at an address, one server could vote for two.
type peers struct {
	*raft.NetworkTransport
	calls chan raft.RPC
	stop  chan struct{}
	once  sync.Once
	work  sync.WaitGroup

	mu         sync.Mutex
	followedAt map[raft.ServerID]time.Time // when the last call was made that was answered as to a leader

	contacts contacts
}

var (
	_ raft.Transport   = (*peers)(nil)
	_ raft.WithPreVote = (*peers)(nil)
)

// rpcsInFlight turns Raft's pipelines off. A leader that is deposed while it writes into one waits
// there forever (netPipeline.AppendEntries waits for its decoder, which waits for a reader that has
// left), and so does Shutdown.
const rpcsInFlight = 1

func newPeers(network Network, address string, config *raft.Config) *peers {
	return &peers{
		NetworkTransport: raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
			Stream: layer{network, peerAddress(address)}, MaxPool: peerPool, Timeout: peerTimeout, Logger: config.Logger,
			MaxRPCsInFlight: rpcsInFlight,
		}),
		calls:      make(chan raft.RPC),
		stop:       make(chan struct{}),
		followedAt: make(map[raft.ServerID]time.Time),
	}
}

// forwardRequests passes the others' requests on to Raft, until Close.
func (p *peers) forwardRequests() {
	for {
		select {
		case call := <-p.NetworkTransport.Consumer():
			p.deliver(call)
		case <-p.stop:
			return
		}
	}
}

func (p *peers) deliver(call raft.RPC) {
	select {
	case p.calls <- call:
	case <-p.stop:
	}
}

// Consumer implements raft.Transport.
func (p *peers) Consumer() <-chan raft.RPC { return p.calls }

// elect makes the replica stand for election at once, as Raft's leadership transfer does.
func (p *peers) elect() {
	p.deliver(raft.RPC{Command: timeoutNow(), RespChan: make(chan raft.RPCResponse, 1)})
}

func timeoutNow() *raft.TimeoutNowRequest {
	return &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}}
}

func named(id raft.ServerID, target raft.ServerAddress) raft.ServerAddress {
	return raft.ServerAddress(id) + nameMark + target
}

// AppendEntriesPipeline implements raft.Transport.
func (p *peers) AppendEntriesPipeline(id raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	return p.NetworkTransport.AppendEntriesPipeline(id, named(id, target))
}

// AppendEntries implements raft.Transport.
func (p *peers) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	called := time.Now()
	err := p.NetworkTransport.AppendEntries(id, named(id, target), args, resp)
	if err == nil && resp.Success && resp.Term == args.Term {
		p.mu.Lock()
		p.followedAt[id] = called
		p.mu.Unlock()
		if len(args.Entries) == 0 {
			p.contacts.onAnswer(id, args.Term, resp.LastLog, called)
		}
	}
	return err
}

// followed counts the voters that have followed this replica in an answer to a call made since an
// instant.
func (p *peers) followed(voters []Server, since time.Time) (count int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range voters {
		if at := p.followedAt[raft.ServerID(s.Name)]; at.After(since) {
			count++
		}
	}
	return count
}

func (p *peers) contact(name string, term uint64) (contact, bool) {
	return p.contacts.get(raft.ServerID(name), term)
}

// RequestVote implements raft.Transport.
func (p *peers) RequestVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	return p.NetworkTransport.RequestVote(id, named(id, target), args, resp)
}

// RequestPreVote implements raft.WithPreVote.
func (p *peers) RequestPreVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	return p.NetworkTransport.RequestPreVote(id, named(id, target), args, resp)
}

// TimeoutNow implements raft.Transport.
func (p *peers) TimeoutNow(id raft.ServerID, target raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	return p.NetworkTransport.TimeoutNow(id, named(id, target), args, resp)
}

// InstallSnapshot implements raft.Transport.
func (p *peers) InstallSnapshot(
	id raft.ServerID,
	target raft.ServerAddress,
	args *raft.InstallSnapshotRequest,
	resp *raft.InstallSnapshotResponse,
	data io.Reader,
) error {
	return p.NetworkTransport.InstallSnapshot(id, named(id, target), args, resp, data)
}
