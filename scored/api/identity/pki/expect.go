package pki

import "sync"

// maxExpected bounds the remembered addresses; a cluster has fewer nodes. A full table is cleared.
const maxExpected = 1 << 14

// expected are the agents that answer at known addresses.
type expected struct {
	mu    sync.Mutex
	nodes map[string]string // by address, host:port
}

// ExpectAgent records which node's agent answers at an address: Dial refuses others there. It may
// be called again when another node has the address.
func (c *Credentials) ExpectAgent(address, node string) {
	if address == "" || node == "" {
		return
	}
	e := &c.expected
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.nodes[address] == node {
		return
	}
	if e.nodes == nil || len(e.nodes) == maxExpected {
		e.nodes = make(map[string]string)
	}
	e.nodes[address] = node
}

// check refuses an agent that is not the one that answers at the address.
func (e *expected) check(address string, is Name) error {
	e.mu.Lock()
	node := e.nodes[address]
	e.mu.Unlock()
	if node == "" || is.Role != Agent || is.Name == node {
		return nil
	}
	return refuse(FaultName, is, "%s answers at %s, the address of node %s; it may pretend to be that node, revoke its certificate", is, address, node)
}
