package steward

import (
	"errors"
	"score/nodeagent/pmi/pmix"
	"score/nodeagent/steward/loop"
	"slices"

	"golang.org/x/sys/unix"
)

const (
	// unsentLimit bounds the bytes that wait for one client to read them. Clients read their answers at
	// once; the longest tells of the 100,000 ranks of a job and has 15 MB.
	unsentLimit = 32 << 20
	// unsentPause bounds the bytes that wait for all clients of a job while more requests are read. Ranks
	// that share few CPUs, or whose gang is off, read their answers late: 1,000 of them may wait for what
	// tells each of the others, 140 KB.
	unsentPause = 64 << 20
	// unsentMost bounds the bytes that wait for all clients of a job. Beyond unsentPause they grow by the
	// answers to requests that were read together, and by events of other nodes.
	unsentMost = unsentPause + pmix.MaxReplies
)

// errUnsent means that a client does not read.
var errUnsent = errors.New("it does not read what PMI tells it")

// conn is the steward's end of a connection on which a rank speaks PMI or PMIx. Clients wait for
// each answer, so unsent is empty unless a client does not read. Nothing more is read from that
// client until it does.
type conn struct {
	fd     int // -1 once the connection has ended
	unsent []byte
}

// clients is what the connections of a job's ranks have in common.
type clients struct {
	loop   *loop.Loop // watches them
	unsent int        // sum of theirs
	// crowded is set while too many messages to other nodes are not acknowledged.
	crowded bool
	held    []heldConn
}

// heldConn is a connection whose requests are not read until other clients have read their answers, or
// other nodes their messages.
type heldConn struct {
	conn *conn
	tag  loop.Tag
}

// close ends a connection.
func (cs *clients) close(c *conn) {
	cs.loop.Unwatch(c.fd) // a forked child of the rank may hold the other end
	loop.CloseFD(c.fd)
	c.fd = -1
	cs.setUnsent(c, nil)
}

// setUnsent counts what waits for a client. Once it is half as much as holds requests, these are read
// again.
func (cs *clients) setUnsent(c *conn, unsent []byte) {
	cs.unsent += len(unsent) - len(c.unsent)
	c.unsent = unsent
	cs.release()
}

// setCrowded sets whether requests wait for other nodes.
func (cs *clients) setCrowded(crowded bool) {
	if cs.crowded != crowded {
		cs.crowded = crowded
		cs.release()
	}
}

// release lets the requests that wait be read again if nothing holds them any more.
func (cs *clients) release() {
	if cs.unsent > unsentPause/2 || cs.crowded {
		return
	}
	for _, h := range cs.held {
		if h.conn.fd >= 0 && len(h.conn.unsent) == 0 {
			_ = cs.loop.ChangeWatch(h.conn.fd, unix.EPOLLIN, h.tag)
		}
	}
	cs.held = nil
}

// mayRead reports whether events of a connection, which the loop watches as t, call for a read now.
func (cs *clients) mayRead(c *conn, t loop.Tag, events uint32) bool {
	if events&(unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		return true
	}
	return events&unix.EPOLLIN != 0 && !cs.hold(c, t)
}

// hold reports whether a client's requests must wait because too much waits for others or for other
// nodes, and then does not watch for them until half of that has been read.
func (cs *clients) hold(c *conn, t loop.Tag) bool {
	if cs.unsent <= unsentPause && !cs.crowded {
		return false
	}
	_ = cs.loop.ChangeWatch(c.fd, 0, t)
	cs.held = append(cs.held, heldConn{c, t})
	return true
}

// send writes as much as the client takes, and keeps the rest until the descriptor, which the loop
// watches as t, is writable. It returns errUnsent if the rest is too large; then the connection ends.
func (cs *clients) send(c *conn, t loop.Tag, data []byte) error {
	waited := len(c.unsent) > 0
	if waited {
		cs.setUnsent(c, append(c.unsent, data...))
		data = c.unsent
	}
	n, err := writeSome(c.fd, data)
	if err != nil {
		return nil // it has hung up: the next read says so
	}
	switch rest := data[n:]; {
	case len(rest) == 0:
		cs.setUnsent(c, nil)
		if waited {
			_ = cs.loop.ChangeWatch(c.fd, unix.EPOLLIN, t)
		}
	case len(rest) > unsentLimit || cs.unsent-len(c.unsent)+len(rest) > unsentMost:
		cs.setUnsent(c, nil)
		_ = unix.Shutdown(c.fd, unix.SHUT_RDWR) // the next read finds its end
		_ = cs.loop.ChangeWatch(c.fd, unix.EPOLLIN, t)
		return errUnsent
	case waited:
		cs.setUnsent(c, rest)
	default:
		cs.setUnsent(c, slices.Clone(rest))
		_ = cs.loop.ChangeWatch(c.fd, unix.EPOLLOUT, t)
	}
	return nil
}

// writeSome writes until the socket is full, and returns how much it wrote.
func writeSome(fd int, data []byte) (int, error) {
	sent := 0
	for sent < len(data) {
		n, err := unix.SendmsgN(fd, data[sent:], nil, nil, unix.MSG_NOSIGNAL)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return sent, nil
		case err != nil:
			return sent, err
		default:
			sent += n
		}
	}
	return sent, nil
}
