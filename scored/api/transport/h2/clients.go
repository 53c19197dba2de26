package h2

import "sync"

// maxClients bounds the table of Clients: a cluster rarely has more nodes, and agents that start
// again may listen elsewhere. A full table is emptied; the connections belong to the transport,
// which drops idle ones.
const maxClients = 4096

// Clients keeps a client of a service for each address. To make one costs as much as to open a
// stream.
type Clients[T any] struct {
	dial func(address string) T

	mu    sync.Mutex
	known map[string]T
}

// NewClients returns Clients without any. It calls dial for an address that it does not know.
func NewClients[T any](dial func(address string) T) *Clients[T] {
	return &Clients[T]{dial: dial, known: map[string]T{}}
}

// At returns the client for an address. Any goroutine may call it.
func (c *Clients[T]) At(address string) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	client, ok := c.known[address]
	if !ok {
		if len(c.known) == maxClients {
			clear(c.known)
		}
		client = c.dial(address)
		c.known[address] = client
	}
	return client
}
