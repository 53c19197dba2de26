package node

import "score/channels/link"

// Totals are what a node has done for all its jobs since it was opened.
type Totals struct {
	Contexts int        // there are now
	Port     link.Stats // of the agent's ports, the directory's included; the ranks' own ports count elsewhere
	Drives   uint64     // times that the agent drove a context
}

// Totals returns the totals, which it asks the loop for.
func (n *Node) Totals() Totals {
	t := Totals{Contexts: n.shares.count()}
	l := n.loop
	l.do(func() {
		t.Drives, t.Port = l.drives, l.gone
		for _, c := range l.byEvent {
			add(&t.Port, c.driver.Port().Stats())
		}
		if l.directory.port != nil {
			add(&t.Port, l.directory.port.Stats())
		}
	})
	return t
}

func add(to *link.Stats, s link.Stats) {
	to.Sent += s.Sent
	to.SentBytes += s.SentBytes
	to.Received += s.Received
	to.ReceivedBytes += s.ReceivedBytes
	to.Dropped += s.Dropped
	to.Truncated += s.Truncated
	to.Overflowed += s.Overflowed
	to.Fragmented += s.Fragmented
	to.Calls += s.Calls
}

// Contexts returns how many contexts there are now. It does not wait.
func (n *Node) Contexts() int { return n.shares.count() }
