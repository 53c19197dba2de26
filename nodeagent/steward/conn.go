package steward

import (
	"errors"
	"score/nodeagent/pmi/pmix"
	"score/nodeagent/steward/loop"
	"slices"

	"golang.org/x/sys/unix"
)

const (
	// unsentLimit bounds the bytes that wait for one client to read them. Clients read their
	// answers at once. The longest answer lists the 100,000 ranks of a job and has 15 MB.
	unsentLimit = 32 << 20
	// unsentPause bounds the bytes that wait for all clients of a job while more requests are read.
	// Ranks that share few CPUs, or whose gang is off, read their answers late: each of 1,000 ranks
	// may have an answer of 140 KB about all others.
	unsentPause = 64 << 20
	// unsentMost bounds the bytes that wait for all clients of a job. Beyond unsentPause they grow
	// only by the answers to requests that were read together, and by events of other nodes.
	unsentMost = unsentPause + pmix.MaxReplies
	// unsentLate bounds the bytes that wait for one client while more requests are read, here and
	// on other nodes. Nothing else bounds the events that other clients cause. Each node may send
	// crowdBytes more before it learns that it must pause.
	unsentLate = unsentLimit / 4
)

// errUnsent means that a client does not read.
var errUnsent = errors.New("it does not read what PMI tells it")

// conn is the steward's end of a connection on which a rank speaks PMI or PMIx. Clients wait for
// each answer, so unsent is empty unless a client does not read. Nothing more is read from that
// client until it does.
type conn struct {
	fd     int      // -1 once the connection has ended
	tag    loop.Tag // of its events
	unsent []byte
	late   bool // more than unsentLate waits, or has waited and half of that still does
}

// clients is what the connections of a job's ranks have in common.
type clients struct {
	loop   *loop.Loop // watches them
	unsent int        // sum of theirs
	lates  int        // how many are late
	// crowded: requests wait, because too many messages to other nodes are not acknowledged or
	// another node asks for a pause.
	crowded bool
	// held are the connections whose requests are not read until other clients have read their
	// answers, or other nodes their messages.
	held []*conn
}

// open begins to watch a connection.
func (cs *clients) open(c *conn, fd int, tag loop.Tag) error {
	c.fd, c.tag = fd, tag
	return cs.loop.Watch(fd, unix.EPOLLIN, tag)
}

// watch changes the events for which the loop watches a connection. It fails only for a connection
// that has ended.
func (cs *clients) watch(c *conn, events uint32) { _ = cs.loop.ChangeWatch(c.fd, events, c.tag) }

// close ends a connection.
func (cs *clients) close(c *conn) {
	cs.loop.Unwatch(c.fd) // a forked child of the rank may hold the other end
	loop.CloseFD(c.fd)
	c.fd = -1
	cs.setUnsent(c, nil)
}

// setUnsent records what waits for a client. Requests are read again once no client is late and at
// most half of unsentPause waits for all clients.
func (cs *clients) setUnsent(c *conn, unsent []byte) {
	cs.unsent += len(unsent) - len(c.unsent)
	c.unsent = unsent
	cs.setLate(c, len(unsent) > unsentLate || c.late && len(unsent) > unsentLate/2)
	cs.release()
}

func (cs *clients) setLate(c *conn, late bool) {
	switch {
	case late == c.late:
		return
	case late:
		cs.lates++
	default:
		cs.lates--
	}
	c.late = late
}

// late reports whether clients read so late that requests should wait, also those of other nodes.
func (cs *clients) late() bool { return cs.lates > 0 || cs.unsent > unsentPause }

// setCrowded sets whether requests wait for other nodes.
func (cs *clients) setCrowded(crowded bool) {
	if cs.crowded != crowded {
		cs.crowded = crowded
		cs.release()
	}
}

// release lets the requests that wait be read again if nothing holds them any more.
func (cs *clients) release() {
	if cs.lates > 0 || cs.unsent > unsentPause/2 || cs.crowded {
		return
	}
	for _, c := range cs.held {
		if c.fd >= 0 && len(c.unsent) == 0 {
			cs.watch(c, unix.EPOLLIN)
		}
	}
	cs.held = nil
}

// mayRead reports whether events of a connection call for a read now.
func (cs *clients) mayRead(c *conn, events uint32) bool {
	if events&(unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		return true
	}
	return events&unix.EPOLLIN != 0 && !cs.hold(c)
}

// hold reports whether a client's requests must wait, because too much waits for clients or for
// other nodes. It then stops watching the connection; release watches it again.
func (cs *clients) hold(c *conn) bool {
	if !cs.late() && !cs.crowded {
		return false
	}
	cs.watch(c, 0)
	cs.held = append(cs.held, c)
	return true
}

// send writes as much as the client takes, and keeps the rest until the descriptor is writable. It
// returns errUnsent if the rest is too large; then the connection ends.
func (cs *clients) send(c *conn, data []byte) error {
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
			cs.watch(c, unix.EPOLLIN)
		}
	case len(rest) > unsentLimit || cs.unsent-len(c.unsent)+len(rest) > unsentMost:
		cs.setUnsent(c, nil)
		_ = unix.Shutdown(c.fd, unix.SHUT_RDWR) // the next read finds its end
		cs.watch(c, unix.EPOLLIN)
		return errUnsent
	case waited:
		cs.setUnsent(c, rest)
	default:
		cs.setUnsent(c, slices.Clone(rest))
		cs.watch(c, unix.EPOLLOUT)
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
