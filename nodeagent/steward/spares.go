package steward

import (
	"errors"
	"score/nodeagent/steward/loop"
	"score/nodeagent/steward/peer"
	"score/nodeagent/steward/stewardpb"
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

var errSpares = errors.New("a context cannot be kept")

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
			loop.CloseFD(fd)
		}
	}
	s.all = nil
}

// openSpares sends the present contexts on a connection, on which the agent then sends further
// ones.
func (s *steward) openSpares(p *peer.Peer) error {
	if s.job == nil {
		return errOtherJob
	}
	p.ExpectDescriptors()
	all := s.spares.all
	for {
		n := min(len(all), sparesBatch)
		if err := sendSpares(p, all[:n], n == len(all)); err != nil {
			return err
		}
		if all = all[n:]; len(all) == 0 {
			return nil
		}
	}
}

// sendSpares sends contexts with their descriptors. All that a job can have fits into the socket
// of an agent that reads.
func sendSpares(p *peer.Peer, some []spare, last bool) error {
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
	return p.SendWith(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_Spares{Spares: message}}, fds)
}

// keep stores a context and confirms it; the agent gives it to nobody before. An error closes the
// connection, by which the agent learns of the failure.
func (s *steward) keep(p *peer.Peer, context *stewardpb.Context) error {
	want := 1
	if context.GetSocket() {
		want = fdsPerContext
	}
	fds, ok := p.Descriptors(want)
	kept := spare{context: context, fds: [fdsPerContext]int{-1, -1}}
	copy(kept.fds[:], fds)
	if !ok || context == nil || s.job == nil || len(s.spares.all) >= maxSpares {
		loop.CloseFD(kept.fds[0])
		loop.CloseFD(kept.fds[1])
		return errSpares
	}
	s.spares.all = append(s.spares.all, kept)
	answer := &stewardpb.Spares{Contexts: []*stewardpb.Context{context}, Last: true}
	if err := p.Queue(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_Spares{Spares: answer}}); err != nil {
		return err
	}
	return p.Flush()
}
