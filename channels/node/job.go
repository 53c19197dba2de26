package node

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"score/channels"
	"score/channels/abi"
	"score/channels/link"
	"score/channels/rankmap"
	"score/channels/residence"
	"slices"
	"sync"
	"time"
)

// name of a context within its job.
type name struct{ channel, rank uint32 }

// Job is a job as far as it is on this node. Its methods may be called from several goroutines.
// Fields above mu that are not marked otherwise do not change.
type Job struct {
	node     *Node
	key      uint64
	ranks    []uint32
	places   *rankmap.Map // nil unless ranks are on other nodes
	names    *jobNames    // nil unless places is Named
	geometry abi.Geometry
	channels int   // of each rank; see JobConfig
	share    share // under the lock of shares

	connected func(*Job)
	done      func(Outcome)
	order     order
	pause     pause
	residence residence.Machine // the loop's
	released  bool              // the loop's: no switch concerns it any more

	keep   func(Spare) error
	serves sync.WaitGroup // the calls of keep, and the ranks' connections

	mu        sync.Mutex
	leaving   bool  // no new contexts or connections
	closed    bool  // the contexts are gone
	remote    int64 // when the first context that can speak to other nodes was made; 0: there is none
	contexts  map[name]*Context
	ended     map[uint32]bool
	respawned map[uint32]bool // ranks with contexts of processes that died, and another process
	account   account
	conns     map[*net.UnixConn]struct{}
	mapFile   *os.File // the map for the ranks; nil before one asks for it

	remove  sync.Once
	removal error
}

func newJob(n *Node, config JobConfig) (*Job, error) {
	j := &Job{
		node:      n,
		connected: config.Connected,
		keep:      config.Keep,
		done:      config.Done,
		key:       config.Key,
		ranks:     slices.Clone(config.Ranks),
		places:    config.Places,
		geometry:  n.config.Geometry,
		channels:  config.Channels,
		contexts:  map[name]*Context{},
		ended:     map[uint32]bool{},
		respawned: map[uint32]bool{},
		conns:     map[*net.UnixConn]struct{}{},
	}
	if err := j.check(); err != nil {
		closeSpares(config.Kept)
		return nil, err
	}
	if j.places != nil && j.places.Named() {
		j.names = newJobNames(j.places, len(config.Kept) > 0)
	}
	if j.channels > 0 {
		n.shares.promise(&j.share, j.channels*len(j.ranks))
	}
	if err := j.restore(config.Kept); err != nil {
		return nil, errors.Join(err, j.close(j.list()))
	}
	return j, nil
}

// check checks whether the node can have the job.
func (j *Job) check() error {
	if err := j.countRanks(); err != nil {
		return err
	}
	g := j.geometry.WithDefaults()
	if err := g.Check(); err != nil {
		return err
	}
	return j.checkLink()
}

// countRanks finds out which ranks are here, and how many there are.
func (j *Job) countRanks() error {
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

// checkLink checks whether the job's other nodes can be reached as its place map says.
func (j *Job) checkLink() error {
	switch {
	case j.places == nil:
		return nil
	case j.node.loop.directory.port == nil:
		return fmt.Errorf("%w: ranks on other nodes, and this one has no directory", ErrJob)
	case j.places.Named() != (j.node.config.Link == link.TIPC):
		return fmt.Errorf("%w: its nodes are linked by something else than %v", ErrJob, j.node.config.Link)
	}
	return nil
}

// Key names the job in frames.
func (j *Job) Key() uint64 { return j.key }

// Given is how many contexts its ranks here were given, besides those of channel 0.
func (j *Job) Given() int {
	given := j.channels
	switch given {
	case NoChannels:
		given = 0
	case 0:
		given = MaxChannels
	}
	return given * len(j.ranks)
}

// has reports whether the rank is one of this node.
func (j *Job) has(rank uint32) bool {
	_, ok := slices.BinarySearch(j.ranks, rank)
	return ok
}

// Image is the context's memory; the context is made at the first call by anyone, by this one with
// ACK/NACK. It belongs to the job. Errors: ErrContext, ErrClosed, ErrNotGiven, ErrResident,
// channels.ErrMemory, and the system's.
func (j *Job) Image(channel, rank uint32) (*channels.Image, error) {
	if !j.has(rank) || channel >= MaxChannels {
		return nil, fmt.Errorf("%w: channel %d of rank %d", ErrContext, channel, rank)
	}
	c, err := j.context(name{channel, rank}, abi.FlowNack)
	if err != nil {
		return nil, err
	}
	return c.img, nil
}

// Remove ends the job on this node: the contexts are driven until what was sent has
// arrived and all is answered, at most for linger; then the ranks are hung up on and
// everything is freed. It may be called again.
func (j *Job) Remove(linger time.Duration) error {
	return j.RemoveAfter(nil, linger)
}

// RemoveAfter is Remove for a job that may go on elsewhere until over is closed: until then its
// ranks there may still take what was sent, and are notified of the ends here.
func (j *Job) RemoveAfter(over <-chan struct{}, linger time.Duration) error {
	j.remove.Do(func() { j.removal = j.doRemove(over, linger) })
	return j.removal
}

func (j *Job) doRemove(over <-chan struct{}, linger time.Duration) error {
	j.mu.Lock()
	j.leaving = true
	j.node.shares.withdraw(&j.share)
	for conn := range j.conns {
		_ = conn.Close()
	}
	all := j.list()
	j.mu.Unlock()
	j.serves.Wait()
	j.node.loop.release(j)
	if len(all) == 0 {
		j.node.leave(j)
		return j.close(nil) // as most jobs, which nobody asked for a context
	}
	j.node.loop.linger(all, over, linger)
	j.node.leave(j)
	j.node.loop.drop(all)
	return j.close(all)
}

// close frees what the ranks do not hold, after the loop has dropped it.
func (j *Job) close(all []*Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	j.accountLocked(len(all))
	j.account.all = nil
	var errs []error
	for _, c := range all {
		errs = append(errs, c.close())
	}
	j.node.shares.free(len(all))
	j.node.shares.withdraw(&j.share)
	clear(j.contexts)
	if j.mapFile != nil {
		j.mapFile.Close()
	}
	return errors.Join(errs...)
}

// list is all contexts, by rank and channel.
func (j *Job) list() []*Context {
	all := make([]*Context, 0, len(j.contexts))
	for _, c := range j.contexts {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *Context) int {
		return cmp.Compare(uint64(a.rank)<<32|uint64(a.channel), uint64(b.rank)<<32|uint64(b.channel))
	})
	return all
}
