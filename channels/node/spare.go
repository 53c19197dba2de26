package node

import (
	"errors"
	"fmt"
	"os"
	"score/channels"
	"score/channels/abi"
	"score/channels/link"
	"score/channels/link/ports"
	"score/channels/link/tipc"
	"score/channels/link/udp"
	"slices"
)

// Spare holds the descriptors of a context: all that another process needs to take it over.
type Spare struct {
	Channel, Rank uint32
	Image         *os.File
	Socket        *os.File // nil if all ranks of the job are on this node
}

// spare passes a new context to Keep, so that it outlives this node. The caller holds mu.
func (j *Job) spare(c *Context) {
	if j.keep == nil {
		return
	}
	c.spared = make(chan struct{})
	j.serves.Go(func() {
		c.spareErr = j.keep(Spare{Channel: c.channel, Rank: c.rank, Image: c.img.File(), Socket: c.socket})
		close(c.spared)
	})
}

// awaitSpared waits until the context may be given out.
func (c *Context) awaitSpared() error {
	if c.spared == nil {
		return nil
	}
	<-c.spared
	return c.spareErr
}

// isSpared reports whether the context may be given out.
func (c *Context) isSpared() bool {
	if c.spared == nil {
		return true
	}
	select {
	case <-c.spared:
		return c.spareErr == nil
	default:
		return false
	}
}

// restore takes over the contexts of a former node. After an error it has closed the rest of them.
func (j *Job) restore(kept []Spare) error {
	for i := range kept {
		if err := j.restoreOne(&kept[i]); err != nil {
			closeSpares(kept[i+1:])
			return err
		}
	}
	return nil
}

func closeSpares(all []Spare) {
	for i := range all {
		all[i].close()
	}
}

func (s *Spare) close() {
	s.Image.Close()
	if s.Socket != nil {
		s.Socket.Close()
	}
}

// restoreOne restores one context. It trusts nothing in the image, since its rank could write
// there.
func (j *Job) restoreOne(s *Spare) error {
	of := name{s.Channel, s.Rank}
	if !j.has(s.Rank) || s.Channel >= MaxChannels || j.contexts[of] != nil || (s.Socket == nil) != (j.places == nil) {
		s.close()
		return fmt.Errorf("%w: channel %d of rank %d", ErrContext, s.Channel, s.Rank)
	}
	img, err := channels.Attach(s.Image)
	if err == nil && !j.isMine(img, of) {
		err = errors.Join(channels.ErrDamaged, img.Close())
	}
	if err != nil {
		if s.Socket != nil {
			s.Socket.Close()
		}
		return fmt.Errorf("node: the image of channel %d of rank %d: %w", s.Channel, s.Rank, err)
	}
	c := &Context{name: of, job: j, img: img}
	if s.Socket != nil {
		if err := c.reconnect(s.Socket); err != nil {
			return errors.Join(fmt.Errorf("node: the socket of channel %d of rank %d: %w", s.Channel, s.Rank, err), img.Close())
		}
	}
	j.node.shares.restore(&j.share, claimFor(of.channel))
	j.contexts[of] = c
	j.account.all = append(j.account.all, c)
	if c.driver != nil {
		j.noteRemote()
	}
	return nil
}

// isMine reports whether an image has the identity and the geometry of this job's.
func (j *Job) isMine(img *channels.Image, of name) bool {
	return img.Identity == channels.Identity{Job: j.key, Rank: of.rank, Channel: of.channel} &&
		img.Geometry() == j.geometry.WithFlow(img.Geometry().Flow).WithDefaults() && slices.Equal(img.Local(), j.ranks)
}

// reconnect gives the context the socket that its peers know.
func (c *Context) reconnect(socket *os.File) error {
	at, err := c.job.boundTo(c.name, socket)
	if err != nil {
		socket.Close()
		return err
	}
	return c.connect(socket, at)
}

// boundTo returns the address of a socket, if a context of the job may have it.
func (j *Job) boundTo(of name, socket *os.File) (link.Address, error) {
	if j.names != nil {
		t, err := ports.TransportOf(socket)
		if err == nil && t != link.TIPC {
			err = tipc.ErrSocket
		}
		return j.names.Context(of.channel, of.rank), err
	}
	at, err := udp.Bound(socket)
	if err == nil && at.Addr() != j.node.Directory().Addr() {
		err = udp.ErrSocket
	}
	return link.AddressOf(at), err
}

// addRestored adds the restored contexts to the loop.
func (j *Job) addRestored() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.contexts) == 0 {
		return
	}
	me, err := channels.Self()
	for _, c := range j.list() {
		if err != nil {
			c.abandon(err)
			continue
		}
		c.guard(func() { c.img.SetOwner(abi.RoleAgent, me) })
		if c.driver != nil {
			j.node.loop.post(func() { j.node.loop.readopt(c) })
		}
	}
	if j.remote != 0 && j.connected != nil {
		j.connected(j)
	}
}

// readopt takes a context in whatever state a killed node left it, and brings it back to its
// channel. Switches are ordered again.
func (l *loop) readopt(c *Context) {
	if now, ok := l.list(c); ok {
		c.job.residence.Adopt(now, &c.residing, false)
		l.makeRoom()
		l.scheduleNow(c)
	}
}
