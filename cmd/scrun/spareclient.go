package main

import (
	"score/scored/client"
	"sync"
)

// spareClient is a second client of the daemon. It is made at its first use: most jobs end without
// one.
type spareClient struct {
	main *client.Client

	mu     sync.Mutex
	client *client.Client // nil: not made yet
}

// get may be called concurrently.
func (s *spareClient) get() *client.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		s.client = s.main.Clone()
	}
	return s.client
}

func (s *spareClient) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		s.client.Close()
	}
}
