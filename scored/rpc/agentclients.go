package rpc

import (
	"net/http"
	"score/scored/api/scorev1/scorev1connect"
	"sync"

	"connectrpc.com/connect"
)

// maxAgentClients bounds the memory: a cluster rarely has more nodes, and agents that start again
// may listen elsewhere.
const maxAgentClients = 4096

// agentClients keeps a client for each address of an agent. To make one costs as much as to open a
// job's stream.
type agentClients struct {
	http *http.Client

	mu    sync.Mutex
	known map[string]scorev1connect.PeerServiceClient
}

func newAgentClients(client *http.Client) *agentClients {
	return &agentClients{http: client, known: make(map[string]scorev1connect.PeerServiceClient)}
}

// at returns the client for an address.
func (a *agentClients) at(address string) scorev1connect.PeerServiceClient {
	a.mu.Lock()
	defer a.mu.Unlock()
	client := a.known[address]
	if client == nil {
		if len(a.known) == maxAgentClients {
			clear(a.known)
		}
		client = a.with(address)
		a.known[address] = client
	}
	return client
}

// with returns a new client for an address, with options of its own.
func (a *agentClients) with(address string, options ...connect.ClientOption) scorev1connect.PeerServiceClient {
	options = append(options, connect.WithAcceptCompression("gzip", nil, nil))
	return scorev1connect.NewPeerServiceClient(a.http, "https://"+address, options...)
}
