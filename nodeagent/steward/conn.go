package steward

import (
	"errors"
	"score/nodeagent/pmi/pmix"
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
	unsent int // sum of theirs
	// crowded is set while too many messages to other nodes are not acknowledged.
	crowded bool
	held    []heldConn
}

// heldConn is a connection whose requests are not read until other clients have read their answers, or
// other nodes their messages.
type heldConn struct {
	conn *conn
	tag  tag
}

// closeConn ends a connection.
func (l *loop) closeConn(c *conn) {
	l.unwatch(c.fd) // a forked child of the rank may hold the other end
	closeFD(c.fd)
	c.fd = -1
	l.setUnsent(c, nil)
}

// setUnsent counts what waits for a client. Once it is half as much as holds requests, these are read
// again.
func (l *loop) setUnsent(c *conn, unsent []byte) {
	l.clients.unsent += len(unsent) - len(c.unsent)
	c.unsent = unsent
	l.release()
}

// setCrowded sets whether requests wait for other nodes.
func (l *loop) setCrowded(crowded bool) {
	if l.clients.crowded != crowded {
		l.clients.crowded = crowded
		l.release()
	}
}

// release lets the requests that wait be read again if nothing holds them any more.
func (l *loop) release() {
	if l.clients.unsent > unsentPause/2 || l.clients.crowded {
		return
	}
	for _, h := range l.clients.held {
		if h.conn.fd >= 0 && len(h.conn.unsent) == 0 {
			_ = l.changeWatch(h.conn.fd, unix.EPOLLIN, h.tag)
		}
	}
	l.clients.held = nil
}

// mayRead reports whether events of a connection, which the loop watches as t, call for a read now.
func (l *loop) mayRead(c *conn, t tag, events uint32) bool {
	if events&(unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		return true
	}
	return events&unix.EPOLLIN != 0 && !l.hold(c, t)
}

// hold reports whether a client's requests must wait because too much waits for others or for other
// nodes, and then does not watch for them until half of that has been read.
func (l *loop) hold(c *conn, t tag) bool {
	if l.clients.unsent <= unsentPause && !l.clients.crowded {
		return false
	}
	_ = l.changeWatch(c.fd, 0, t)
	l.clients.held = append(l.clients.held, heldConn{c, t})
	return true
}

// send writes as much as the client takes, and keeps the rest until the descriptor, which the loop
// watches as t, is writable. It returns errUnsent if the rest is too large; then the connection ends.
func (l *loop) send(c *conn, t tag, data []byte) error {
	waited := len(c.unsent) > 0
	if waited {
		l.setUnsent(c, append(c.unsent, data...))
		data = c.unsent
	}
	n, err := writeSome(c.fd, data)
	if err != nil {
		return nil // it has hung up: the next read says so
	}
	switch rest := data[n:]; {
	case len(rest) == 0:
		l.setUnsent(c, nil)
		if waited {
			_ = l.changeWatch(c.fd, unix.EPOLLIN, t)
		}
	case len(rest) > unsentLimit || l.clients.unsent-len(c.unsent)+len(rest) > unsentMost:
		l.setUnsent(c, nil)
		_ = unix.Shutdown(c.fd, unix.SHUT_RDWR) // the next read finds its end
		_ = l.changeWatch(c.fd, unix.EPOLLIN, t)
		return errUnsent
	case waited:
		l.setUnsent(c, rest)
	default:
		l.setUnsent(c, slices.Clone(rest))
		_ = l.changeWatch(c.fd, unix.EPOLLOUT, t)
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
