package steward

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"
)

// unsentLimit bounds the bytes that wait for one client to read them. Clients read their answers at
// once; a client that does not is disconnected.
const unsentLimit = 32 << 20

// conn is the steward's end of a connection on which a rank speaks PMI or PMIx. Clients wait for
// each answer, so unsent is empty unless a client does not read. Nothing more is read from that
// client until it does.
type conn struct {
	fd     int // -1 once the connection has ended
	unsent []byte
}

func (c *conn) close() {
	closeFD(c.fd)
	c.fd, c.unsent = -1, nil
}

// send writes as much as the client takes, and keeps the rest until the descriptor, which the loop
// watches as t, is writable.
func (l *loop) send(c *conn, t tag, data []byte) {
	waited := len(c.unsent) > 0
	if waited {
		c.unsent = append(c.unsent, data...)
		data = c.unsent
	}
	n, err := writeSome(c.fd, data)
	if err != nil {
		return // it has hung up: the next read says so
	}
	switch rest := data[n:]; {
	case len(rest) == 0:
		c.unsent = nil
		if waited {
			_ = l.changeWatch(c.fd, unix.EPOLLIN, t)
		}
	case len(rest) > unsentLimit:
		c.unsent = nil
		_ = unix.Shutdown(c.fd, unix.SHUT_RDWR) // the next read finds its end
		_ = l.changeWatch(c.fd, unix.EPOLLIN, t)
	case waited:
		c.unsent = rest
	default:
		c.unsent = slices.Clone(rest)
		_ = l.changeWatch(c.fd, unix.EPOLLOUT, t)
	}
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
