package tipc

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// connectMilliseconds bounds the wait for the topology service: the thread that waits also drives
// channels.
const connectMilliseconds = 200

// Watcher is a connection to the kernel's topology service, which reports names that are bound and
// given up on all nodes of the cluster, also when a node or the way to it is lost.
type Watcher struct {
	fd int
}

// Watch connects to the service.
func Watch() (*Watcher, error) {
	fd, err := open(unix.SOCK_SEQPACKET)
	if err != nil {
		return nil, err
	}
	service := &unix.SockaddrTIPC{
		Scope: unix.TIPC_NODE_SCOPE,
		Addr:  &unix.TIPCServiceName{Type: unix.TIPC_TOP_SRV, Instance: unix.TIPC_TOP_SRV},
	}
	// The service is the kernel's own, and accepts within microseconds.
	err = unix.SetsockoptInt(fd, unix.SOL_TIPC, unix.TIPC_CONN_TIMEOUT, connectMilliseconds)
	if err == nil {
		err = unix.Connect(fd, service)
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("tipc: cannot reach the topology service: %w", err)
	}
	return &Watcher{fd: fd}, nil
}

// Descriptor is the connection's, to wait on.
func (w *Watcher) Descriptor() int { return w.fd }

// Subscribe makes the service report a range: the names bound there now, and each change. The
// handle comes back with each event.
func (w *Watcher) Subscribe(r Range, handle uint64) error {
	return w.write(subscription(r, handle, eachSocket))
}

// Cancel ends a subscription of the same range and handle.
func (w *Watcher) Cancel(r Range, handle uint64) error {
	return w.write(subscription(r, handle, eachSocket|cancelling))
}

func (w *Watcher) write(b [subBytes]byte) error {
	if err := unix.Send(w.fd, b[:], unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("tipc: the topology service takes no subscription: %w", err)
	}
	return nil
}

// Next returns the next event, without waiting: ok is false if there is none now. After an error
// the connection is of no use any more.
func (w *Watcher) Next() (e Event, ok bool, err error) {
	var b [eventBytes]byte
	n, err := unix.Read(w.fd, b[:])
	switch {
	case errors.Is(err, unix.EAGAIN) && w.hungUp():
		return e, false, fmt.Errorf("tipc: the topology service: %w", io.EOF)
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return e, false, nil
	case err != nil:
		return e, false, fmt.Errorf("tipc: the topology service: %w", err)
	case n == 0:
		return e, false, fmt.Errorf("tipc: the topology service: %w", io.EOF)
	}
	e, err = parseEvent(b[:n])
	return e, err == nil, err
}

// hungUp reports whether nothing will come any more. A nonblocking socket reports a closed
// connection only once, and then that nothing is there now.
func (w *Watcher) hungUp() bool {
	fds := []unix.PollFd{{Fd: int32(w.fd)}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
}

// Close ends all subscriptions.
func (w *Watcher) Close() error { return unix.Close(w.fd) }
