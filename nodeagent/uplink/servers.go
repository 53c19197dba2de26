package uplink

import (
	"net"
	"score/scored/api/agentpb"
	"slices"
	"strings"
	"sync"
)

// maxServers bounds the known servers: clusters have up to nine.
const maxServers = 32

// servers holds the URLs of the servers, one of which leads.
type servers struct {
	mu     sync.Mutex
	scheme string
	first  []string // from the configuration; at least one is right
	learnt []string
	turn   int
	to     string // the target of the last server's redirection; "": none
}

func newServers(configured []string) *servers {
	s := &servers{first: configured}
	if len(configured) > 0 {
		s.scheme, _, _ = strings.Cut(configured[0], "://")
	}
	return s
}

// next returns the server to try now, and whether another one redirected us there.
func (s *servers) next() (url string, sent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to := s.to; to != "" {
		s.to = ""
		return to, true
	}
	all := s.allLocked()
	url = all[s.turn%len(all)]
	s.turn++
	return url, false
}

func (s *servers) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.allLocked()
}

func (s *servers) allLocked() []string {
	all := slices.Clone(s.first)
	for _, url := range s.learnt {
		if !slices.Contains(all, url) {
			all = append(all, url)
		}
	}
	return all
}

// redirect directs the next attempt to an address.
func (s *servers) redirect(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if isAddress(address) {
		s.to = s.url(address)
	}
}

// url returns the URL of an address, host:port.
func (s *servers) url(address string) string { return s.scheme + "://" + address }

// learn sets the addresses of all servers, and reports whether they have changed.
func (s *servers) learn(addresses []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var learnt []string
	for _, address := range addresses {
		if isAddress(address) && len(learnt) < maxServers {
			learnt = append(learnt, s.url(address))
		}
	}
	if len(learnt) == 0 || slices.Equal(learnt, s.learnt) {
		return false
	}
	s.learnt = learnt
	return true
}

func isAddress(text string) bool {
	host, port, err := net.SplitHostPort(text)
	return err == nil && host != "" && port != "" && !strings.ContainsAny(text, "/?#@ ")
}

func (l *Link) learn(m *agentpb.Servers) {
	if m == nil || !l.servers.learn(m.GetAddresses()) || l.options.Learnt == nil {
		return
	}
	l.options.Learnt(m.GetAddresses())
}
