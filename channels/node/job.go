package node

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"score/channels"
	"score/channels/abi"
	"score/channels/handover"
	"score/channels/places"
)

// name of a context within its job.
type name struct{ channel, rank uint32 }

// Job is a job as far as it is on this node. Its methods may be called from several goroutines.
type Job struct {
	node     *Node
	key      uint64
	ranks    []uint32
	places   *places.Map // nil unless ranks are on other nodes
	geometry abi.Geometry

	mu       sync.Mutex
	mapFile  *os.File // the map for the ranks; nil before one asks for it
	leaving  bool     // no new contexts
	closed   bool     // the contexts are gone
	contexts map[name]*Context
	ended    map[uint32]bool
	conns    map[*net.UnixConn]struct{}
	serves   sync.WaitGroup

	remove  sync.Once
	removal error
}

func newJob(n *Node, config JobConfig) (*Job, error) {
	j := &Job{
		node: n, key: config.Key, ranks: slices.Clone(config.Ranks), places: config.Places, geometry: n.config.Geometry,
		contexts: map[name]*Context{}, ended: map[uint32]bool{}, conns: map[*net.UnixConn]struct{}{},
	}
	if err := j.settle(); err != nil {
		return nil, err
	}
	g := j.geometry.WithDefaults()
	if err := g.Check(); err != nil {
		return nil, err
	}
	if j.places == nil {
		return j, nil
	}
	if !n.Directory().IsValid() {
		return nil, fmt.Errorf("%w: ranks on other nodes, and this one has no directory", ErrJob)
	}
	return j, nil
}

// settle finds out which ranks are here, and how many there are.
func (j *Job) settle() error {
	if j.key == 0 {
		return fmt.Errorf("%w: no key", ErrJob)
	}
	size := uint32(len(j.ranks))
	if j.places != nil {
		local := j.places.Local()
		if j.ranks == nil {
			j.ranks = local
		}
		if !slices.Equal(j.ranks, local) {
			return fmt.Errorf("%w: its ranks here are not those of its place map", ErrJob)
		}
		size = j.places.Ranks()
		if !j.places.Remote() {
			j.places = nil
		}
	}
	for i, r := range j.ranks {
		if r >= size || i > 0 && r <= j.ranks[i-1] {
			return fmt.Errorf("%w: rank %d of %d", ErrJob, r, size)
		}
	}
	if len(j.ranks) == 0 {
		return fmt.Errorf("%w: no rank on this node", ErrJob)
	}
	j.geometry.Ranks, j.geometry.LocalRanks = size, uint32(len(j.ranks))
	return nil
}

// Key names the job in frames.
func (j *Job) Key() uint64 { return j.key }

// has says whether the rank is one of this node.
func (j *Job) has(rank uint32) bool {
	_, ok := slices.BinarySearch(j.ranks, rank)
	return ok
}

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
	c, status := j.serve(name{r.Channel, r.Rank})
	if status != handover.StatusOK {
		return nil, status
	}
	return c.img.File(), status
}

func (j *Job) serveNetwork(asker, channel uint32) (socket, places *os.File, status handover.Status) {
	if j.places == nil {
		return nil, nil, handover.StatusAlone
	}
	c, status := j.serve(name{channel, asker})
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

// Connections is how many connections of ranks Serve has open.
func (j *Job) Connections() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.conns)
}

func (j *Job) serve(of name) (*Context, handover.Status) {
	if !j.has(of.rank) {
		return nil, handover.StatusRank
	}
	if of.channel >= MaxChannels {
		return nil, handover.StatusChannel
	}
	c, err := j.context(of)
	switch {
	case errors.Is(err, ErrClosed):
		return nil, handover.StatusGone
	case err != nil:
		j.node.log("no memory for a context", j.key, of.rank, err)
		return nil, handover.StatusExhausted
	case c.damaged.Load():
		return nil, handover.StatusGone
	}
	return c, handover.StatusOK
}

// Image is the context's memory; the context is made at the first call by anyone. It
// belongs to the job. Errors: ErrContext, ErrClosed, ErrResident, channels.ErrMemory, and
// the system's.
func (j *Job) Image(channel, rank uint32) (*channels.Image, error) {
	if !j.has(rank) || channel >= MaxChannels {
		return nil, fmt.Errorf("%w: channel %d of rank %d", ErrContext, channel, rank)
	}
	c, err := j.context(name{channel, rank})
	if err != nil {
		return nil, err
	}
	return c.img, nil
}

// Remove ends the job on this node: the contexts are driven until what was sent has
// arrived and all is answered, at most for linger; then the ranks are hung up on and
// everything is freed. It may be called again.
func (j *Job) Remove(linger time.Duration) error {
	j.remove.Do(func() { j.removal = j.doRemove(linger) })
	return j.removal
}

func (j *Job) doRemove(linger time.Duration) error {
	j.mu.Lock()
	j.leaving = true
	for conn := range j.conns {
		_ = conn.Close()
	}
	all := j.list()
	j.mu.Unlock()
	j.serves.Wait()
	j.node.loop.linger(all, linger)
	j.node.leave(j)
	j.node.loop.drop(all)

	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	var errs []error
	for _, c := range all {
		errs = append(errs, c.close())
		j.node.resident.Add(-1)
	}
	clear(j.contexts)
	j.closeFiles()
	return errors.Join(errs...)
}

func (j *Job) closeFiles() {
	if j.mapFile != nil {
		j.mapFile.Close()
	}
}

// list is all contexts, by rank and channel.
func (j *Job) list() []*Context {
	all := make([]*Context, 0, len(j.contexts))
	for _, c := range j.contexts {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *Context) int {
		return compareKeys(uint64(a.rank)<<32|uint64(a.channel), uint64(b.rank)<<32|uint64(b.channel))
	})
	return all
}
