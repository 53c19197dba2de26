package steward

import (
	"errors"
	"fmt"
	"score/channels/scm"
	"score/nodeagent/steward/stewardpb"
	"score/nodeagent/steward/wire"

	"golang.org/x/sys/unix"
)

const (
	// fdsPerContext is the number of descriptors of a context: its image and, for peers on other
	// nodes, its socket.
	fdsPerContext = 2
	// sparesBatch is the number of contexts in one message: the kernel takes 253 descriptors at a
	// time.
	sparesBatch = 100
	// maxSpares bounds the contexts of a job on one node: far more than an agent has
	// channels for.
	maxSpares = 16 << 10
)

var (
	errSpares = errors.New("a context cannot be kept")
	errAgent  = errors.New("the agent does not take back the contexts that were kept for it")
)

// spare holds the descriptors of a context that an agent has made. They give another agent the same
// memory and socket, even if every rank that has them is stopped.
type spare struct {
	context *stewardpb.Context
	fds     [fdsPerContext]int // the image, and the socket or -1
}

// spares holds the descriptors with which an agent rebuilds a job's contexts after its predecessor
// was lost.
type spares struct{ all []spare }

func (s *spares) close() {
	for i := range s.all {
		for _, fd := range s.all[i].fds {
			closeFD(fd)
		}
	}
	s.all = nil
}

// openSpares sends the present contexts on a connection, on which the agent then sends further
// ones.
func (s *steward) openSpares(p *peer) error {
	if s.job == nil {
		return errOtherJob
	}
	p.rights = new(rights)
	all := s.spares.all
	for {
		n := min(len(all), sparesBatch)
		if err := p.sendSpares(all[:n], n == len(all)); err != nil {
			return err
		}
		if all = all[n:]; len(all) == 0 {
			return nil
		}
	}
}

// sendSpares sends contexts with their descriptors. All that a job can have fits into the socket
// of an agent that reads.
func (p *peer) sendSpares(some []spare, last bool) error {
	message := &stewardpb.Spares{Last: last}
	var fds []int
	for i := range some {
		message.Contexts = append(message.Contexts, some[i].context)
		for _, fd := range some[i].fds {
			if fd >= 0 {
				fds = append(fds, fd)
			}
		}
	}
	frame, err := wire.Append(nil, &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Spares{Spares: message}})
	if err != nil {
		return err
	}
	var control []byte
	if len(fds) > 0 {
		control = unix.UnixRights(fds...)
	}
	n, err := unix.SendmsgN(p.fd, frame, control, nil, unix.MSG_NOSIGNAL)
	if err != nil || n != len(frame) {
		return fmt.Errorf("%w: %d of %d bytes: %w", errAgent, n, len(frame), err)
	}
	return nil
}

// keep stores a context and confirms it; the agent gives it to nobody before. An error closes the
// connection, by which the agent learns of the failure.
func (s *steward) keep(p *peer, context *stewardpb.Context) error {
	want := 1
	if context.GetSocket() {
		want = fdsPerContext
	}
	fds, ok := p.rights.take(want)
	kept := spare{context: context, fds: [fdsPerContext]int{-1, -1}}
	copy(kept.fds[:], fds)
	if !ok || context == nil || s.job == nil || len(s.spares.all) >= maxSpares {
		closeFD(kept.fds[0])
		closeFD(kept.fds[1])
		return errSpares
	}
	s.spares.all = append(s.spares.all, kept)
	answer := &stewardpb.Spares{Contexts: []*stewardpb.Context{context}, Last: true}
	if err := p.queue(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_Spares{Spares: answer}}); err != nil {
		return err
	}
	return p.flush()
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
		closeFD(fd)
	}
	r.fds = nil
}
