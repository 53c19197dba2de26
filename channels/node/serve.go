package node

import (
	"errors"
	"fmt"
	"net"
	"os"
	"score/channels/abi"
	"score/channels/handover"
	"score/channels/link/udp"
)

// Serve hands contexts to a rank until it hangs up, in a goroutine that Remove
// awaits. The connection is the job's, also when Serve fails: ErrClosed, or
// ErrContext if the rank is not on this node.
func (j *Job) Serve(conn *net.UnixConn, rank uint32) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.leaving || !j.has(rank) {
		_ = conn.Close()
		if j.leaving {
			return ErrClosed
		}
		return fmt.Errorf("%w: rank %d is not on this node", ErrContext, rank)
	}
	j.conns[conn] = struct{}{}
	j.serves.Go(func() {
		handover.Server{
			Image:   func(r handover.Request) (*os.File, handover.Status) { return j.serveImage(rank, r) },
			Network: func(channel uint32) (*os.File, *os.File, handover.Status) { return j.serveNetwork(rank, channel) },
			Bulk:    func(channel uint32) (*os.File, handover.Status) { return j.serveBulk(rank, channel) },
		}.Serve(conn)
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(j.conns, conn)
	})
	return nil
}

func (j *Job) serveImage(asker uint32, r handover.Request) (*os.File, handover.Status) {
	if r.Rank == handover.Own {
		r.Rank = asker
	}
	c, status := j.serve(name{r.Channel, r.Rank}, r.Flow)
	if status != handover.StatusOK {
		return nil, status
	}
	if c.img.Geometry().Flow != r.Flow {
		return nil, handover.StatusFlow
	}
	if r.Rank == asker && j.isDead(c) {
		return nil, handover.StatusGone
	}
	return c.img.File(), status
}

func (j *Job) serveNetwork(asker, channel uint32) (socket, places *os.File, status handover.Status) {
	c, status := j.serveOwn(asker, channel)
	if status != handover.StatusOK {
		return nil, nil, status
	}
	places, err := j.placesFile()
	if err != nil {
		j.node.log("no file for the place map", j.key, asker, err)
		return nil, nil, handover.StatusExhausted
	}
	return c.socket, places, status
}

// serveBulk makes the socket when the rank asks: most jobs have no long messages. There is one for
// each context, so what a job's sockets hold is bounded by its channels.
func (j *Job) serveBulk(asker, channel uint32) (*os.File, handover.Status) {
	c, status := j.serveOwn(asker, channel)
	if status != handover.StatusOK {
		return nil, status
	}
	if j.names != nil {
		return nil, handover.StatusAlone
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if c.bulk != nil {
		return c.bulk, status
	}
	var err error
	if c.bulk, err = udp.ListenBulk(j.node.Directory().Addr()); err != nil {
		j.node.log("no socket for bulk datagrams", j.key, asker, err)
		return nil, handover.StatusExhausted
	}
	return c.bulk, status
}

// serveOwn returns the asking rank's own context. It exists, since a rank asks for the image first.
func (j *Job) serveOwn(asker, channel uint32) (*Context, handover.Status) {
	if j.places == nil {
		return nil, handover.StatusAlone
	}
	c, status := j.serve(name{channel, asker}, abi.FlowNack)
	if status == handover.StatusOK && j.isDead(c) {
		return nil, handover.StatusGone
	}
	return c, status
}

// placesFile makes the map's file when the first rank asks: most jobs never do.
func (j *Job) placesFile() (*os.File, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.mapFile != nil {
		return j.mapFile, nil
	}
	var err error
	j.mapFile, err = j.places.File()
	return j.mapFile, err
}

// Connections returns how many connections of ranks Serve has open.
func (j *Job) Connections() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.conns)
}

func (j *Job) serve(of name, flow uint32) (*Context, handover.Status) {
	if !j.has(of.rank) {
		return nil, handover.StatusRank
	}
	if of.channel >= MaxChannels {
		return nil, handover.StatusChannel
	}
	c, err := j.context(of, flow)
	switch {
	case errors.Is(err, ErrClosed):
		return nil, handover.StatusGone
	case errors.Is(err, ErrNotGiven):
		return nil, handover.StatusNotGiven // the rank tells its user
	case errors.Is(err, abi.ErrPlaces):
		return nil, handover.StatusPlaces // it tells its user this, too
	case err != nil:
		j.node.log("no memory for a context", j.key, of.rank, err)
		return nil, handover.StatusExhausted
	case c.damaged.Load():
		return nil, handover.StatusGone
	}
	if err := c.awaitSpared(); err != nil {
		j.node.log("a context could not be kept", j.key, of.rank, err)
		return nil, handover.StatusExhausted
	}
	return c, handover.StatusOK
}
