package uplink

import "sync"

// leader holds the URL of the server that has welcomed the node, for other goroutines.
type leader struct {
	mu      sync.Mutex
	url     string // "": none has
	changed chan struct{}
}

func newLeader() *leader { return &leader{changed: make(chan struct{})} }

func (l *leader) set(url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.url == url {
		return
	}
	l.url = url
	close(l.changed)
	l.changed = make(chan struct{})
}

// Leader returns the base URL of the leader, to which the node has a stream, "" without a stream.
func (l *Link) Leader() string {
	l.leader.mu.Lock()
	defer l.leader.mu.Unlock()
	return l.leader.url
}

// Connected reports whether there is a stream to the leader, whose welcome was handled.
func (l *Link) Connected() bool { return l.Leader() != "" }

// LeaderChanged returns a channel that is closed when Leader may give another answer.
func (l *Link) LeaderChanged() <-chan struct{} {
	l.leader.mu.Lock()
	defer l.leader.mu.Unlock()
	return l.leader.changed
}
