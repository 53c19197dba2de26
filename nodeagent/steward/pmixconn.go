package steward

import (
	"score/nodeagent/pmi/pmix"
	"score/nodeagent/sockowner"
	"score/nodeagent/steward/loop"

	"golang.org/x/sys/unix"
)

// pmixConn is the steward's end of one connection.
type pmixConn struct {
	conn
	owner    sockowner.Owner // of the other end
	closing  bool            // once all has been written
	answered bool            // something was written since the last read
}

// acceptPMIx accepts a connection; its greeting identifies the client.
func (s *steward) acceptPMIx() {
	e := s.endpoint()
	if e == nil {
		return
	}
	fd, from, err := unix.Accept4(e.listener, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
	if err != nil {
		return // the other side has gone again
	}
	// Other users of this host must not take up room.
	owner, err := e.ownerOf(from)
	if err != nil || int(owner.UID) != s.job.uid() {
		loop.CloseFD(fd)
		return
	}
	id, ok := e.server.Accept()
	if !ok {
		loop.CloseFD(fd)
		return
	}
	// Answers are single small packets on which a rank waits.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) // without it they come later
	c := &pmixConn{owner: owner}
	e.conns[id] = c
	if err := s.clients.open(&c.conn, fd, loop.Tag{Kind: kindPMIx, Index: int32(id)}); err != nil {
		s.onClosedPMIx(id)
		return
	}
	s.readPMIx(id) // a client greets at once
}

// servePMIx reads once from a connection, or writes data that the client has not read yet.
func (s *steward) servePMIx(id pmix.ConnID, events uint32) {
	if s.endpoint() == nil {
		return
	}
	if events&unix.EPOLLOUT != 0 {
		s.writePMIx(id, nil)
	}
	if c := s.job.pmix.conns[id]; c != nil && s.clients.mayRead(&c.conn, events) {
		s.readPMIx(id)
	}
}

// readPMIx reads once and reports whether there may be more.
func (s *steward) readPMIx(id pmix.ConnID) bool {
	c := s.job.pmix.conns[id]
	if c == nil {
		return false
	}
	data, more, closed := s.readOnce(c.fd)
	switch {
	case closed:
		s.onClosedPMIx(id)
	case data != nil:
		c.answered = false
		s.applyPMIx(s.job.pmix.server.Feed(s.now(), id, data))
		c.acknowledge()
	}
	return more
}

// acknowledge tells the client's kernel at once that a request has come, unless its answer did.
// libpmix leaves Nagle's algorithm on: its next request waits for that, which Linux puts off for 40
// ms. When a rank ends, it sends three requests that have no answer, and then one that has.
func (c *pmixConn) acknowledge() {
	if c.fd >= 0 && !c.answered {
		_ = unix.SetsockoptInt(c.fd, unix.IPPROTO_TCP, unix.TCP_QUICKACK, 1) // without it, it comes later
	}
}

// onClosedPMIx handles the end of a connection.
func (s *steward) onClosedPMIx(id pmix.ConnID) {
	e := s.job.pmix
	c := e.conns[id]
	if c == nil {
		return
	}
	s.clients.close(&c.conn)
	delete(e.conns, id)
	rank, _, ok, effects := e.server.OnDisconnected(s.now(), id)
	if ok {
		s.life.Closed(s.now(), s.job.index(rank))
	}
	s.applyPMIx(effects)
}

// writePMIx writes to a connection, and closes it if it was to be closed after that.
func (s *steward) writePMIx(id pmix.ConnID, data []byte) {
	c := s.job.pmix.conns[id]
	if c == nil {
		return
	}
	c.answered = true
	k := s.job.index(s.job.pmix.server.RankOf(id))
	s.checkSent(k, s.clients.send(&c.conn, data))
	if c.closing && len(c.unsent) == 0 {
		s.onClosedPMIx(id)
	}
}

// dropPMIx closes a refused connection after the refusal was sent.
func (s *steward) dropPMIx(id pmix.ConnID) {
	c := s.job.pmix.conns[id]
	if c == nil {
		return
	}
	c.closing = true
	if len(c.unsent) == 0 {
		s.onClosedPMIx(id)
	}
}
