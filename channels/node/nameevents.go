package node

import (
	"errors"
	"fmt"
	"score/channels/link"
	"score/channels/link/tipc"
)

// ErrSquatter: a socket that is not the job's has bound a name of the job. It gets questions that
// it cannot answer, and nothing else.
var ErrSquatter = errors.New("another program, or a cluster with the same agent.tipc_type, has bound a name of the job; what it sends is not taken")

// onName handles a name in the job's range that a socket bound or gave up.
func (l *loop) onName(j *Job, e *tipc.Event) {
	m, ok := j.names.Find(e.First)
	if ok && e.First == e.Last {
		l.keepName(j, m, e)
	}
	switch {
	case !ok || e.First != e.Last:
		l.onSquatter(j, e, 0) // a range that reaches into the job's
	case m.Directory && m.Node == j.places.Own():
		if e.Socket != l.directory.port.Local() {
			l.onSquatter(j, e, 0)
		}
	case m.Directory && e.Gone:
		if left := l.node.config.Left; left != nil {
			left(j.key, m.Node)
		}
	case m.Directory:
	case j.has(m.Rank):
		if !j.isAt(name{m.Channel, m.Rank}, e.Socket) {
			l.onSquatter(j, e, m.Rank)
		}
	case e.Gone:
		j.peerEnded(m.Channel, m.Rank, howWithdrawn)
	}
}

// isAt reports whether the socket is the context's.
func (j *Job) isAt(of name, socket link.Address) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := j.contexts[of]
	return c != nil && c.driver != nil && c.driver.Port().Local() == socket
}

// onSquatter reports once for each job that another socket has one of its names.
func (l *loop) onSquatter(j *Job, e *tipc.Event, rank uint32) {
	if e.Gone || j.names.squatted {
		return
	}
	j.names.squatted = true
	node, reference, _ := e.Socket.Socket()
	err := fmt.Errorf("%w (%v to %d, port %d at node %08x; \"tipc nametable show\" lists it)",
		ErrSquatter, link.NameAddress(j.names.Kind, e.First), e.Last, reference, node)
	l.node.log("a name of a job is another's too", j.key, rank, err)
}

// keepName records a name that a socket of another node has bound or given up.
func (l *loop) keepName(j *Job, m link.Meaning, e *tipc.Event) {
	if m.Directory && m.Node == j.places.Own() || !m.Directory && j.has(m.Rank) {
		return
	}
	b := bindingOf(e)
	if e.Gone {
		j.names.published.unbind(b)
		return
	}
	j.names.published.bind(b)
	if m.Directory {
		j.names.seen.see(m.Node)
		if j.names.seen.reported {
			l.updateTroubles()
		}
	}
}

func bindingOf(e *tipc.Event) binding {
	node, reference, _ := e.Socket.Socket()
	return binding{e.First, uint64(node)<<32 | uint64(reference)}
}

// address returns the address of the socket.
func (b binding) address() link.Address {
	return link.SocketAddress(uint32(b.socket>>32), uint32(b.socket))
}

// onMark handles a cluster's mark that a socket bound or gave up. After a reconnection, the first
// such event comes when the service has reported everything that is bound.
func (l *loop) onMark(e *tipc.Event) {
	t := &l.topology
	before := len(t.marks.bound)
	if e.First != t.mark || e.First != e.Last {
		if b := bindingOf(e); e.Gone {
			t.marks.unbind(b)
		} else {
			t.marks.bind(b)
		}
	}
	if t.settling && !e.Gone {
		l.settleTopology()
	}
	if after := len(t.marks.bound); (before == 0) != (after == 0) {
		l.updateTroubles()
		if before == 0 {
			l.node.log("another cluster has the same type of names", 0, 0, l.topology.troubles.Load().Other)
		}
	}
}
