package peer

import (
	"errors"
	"fmt"
	"io"
	"score/channels/scm"
	"score/nodeagent/steward/loop"
	"score/nodeagent/steward/wire"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"
)

// ErrFull means that the other side does not read what is sent with descriptors; SendWith wraps it.
var ErrFull = errors.New("the agent does not take what is sent with descriptors")

// ExpectDescriptors lets descriptors come on the connection from now on.
func (p *Peer) ExpectDescriptors() { p.rights = new(rights) }

// ExpectsDescriptors reports whether ExpectDescriptors was called.
func (p *Peer) ExpectsDescriptors() bool { return p.rights != nil }

// Descriptors returns the next n descriptors that came; ok is false if there are not so many.
func (p *Peer) Descriptors(n int) (fds []int, ok bool) { return p.rights.take(n) }

// SendWith sends a message with descriptors, at once: queued messages would come after it. The
// error wraps ErrFull.
func (p *Peer) SendWith(m proto.Message, fds []int) error {
	frame, err := wire.Append(nil, m)
	if err != nil {
		return err
	}
	var control []byte
	if len(fds) > 0 {
		control = unix.UnixRights(fds...)
	}
	n, err := unix.SendmsgN(p.fd, frame, control, nil, unix.MSG_NOSIGNAL)
	if err == nil && n < len(frame) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("%w: %d of %d bytes: %w", ErrFull, n, len(frame), err)
	}
	return nil
}

// rights holds descriptors that have come on a connection and belong to no message yet.
type rights struct {
	fds     []int
	lost    bool // the kernel had no room for some
	control [rightsBytes]byte
}

// rightsBytes is room for the descriptors of one message of an agent.
const rightsBytes = 64

// read is like unix.Read, but also receives descriptors.
func (r *rights) read(fd int, b []byte) (int, error) {
	n, length, flags, _, err := unix.Recvmsg(fd, b, r.control[:], unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return n, err
	}
	r.lost = r.lost || flags&unix.MSG_CTRUNC != 0
	fds, err := scm.Rights(r.control[:length])
	r.fds = append(r.fds, fds...)
	r.lost = r.lost || err != nil
	return n, nil
}

// take returns the descriptors that came first.
func (r *rights) take(n int) (fds []int, ok bool) {
	if r.lost || len(r.fds) < n {
		return nil, false
	}
	fds, r.fds = r.fds[:n:n], r.fds[n:]
	return fds, true
}

func (r *rights) close() {
	for _, fd := range r.fds {
		loop.CloseFD(fd)
	}
	r.fds = nil
}
