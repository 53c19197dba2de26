package replica

import (
	"errors"
	"fmt"
	"score/scored/failpoint"
	"score/scored/replica/guard"
	"score/scored/state"
	"score/scored/state/statepb"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

const (
	// enqueueTimeout bounds an entry's wait for the Raft loop, which blocks only while the disk
	// does.
	enqueueTimeout = 10 * time.Second
	// stopBound is how long Close waits for Raft: longer than any call to another server.
	stopBound = 10 * time.Second
	// closeBound is how long Close waits for Raft after the disk has failed, since Raft may wait
	// for the disk.
	closeBound = 2 * time.Second
	// loneName is the name of a replica without a network in the log's configuration.
	loneName = "server"
)

// ErrStale is returned for an entry that was decided in another term than the one in which it would
// be committed. It has changed nothing; decide again.
var ErrStale = errors.New("the leader has changed")

// ErrClosed is returned if Close was called before Commit.
var ErrClosed = errors.New("the server is stopping")

// ErrDisk is wrapped by errors of a data directory whose disk has failed. The process that uses it
// must end and be restarted.
var ErrDisk = guard.ErrDisk

// Options are the options of a replica.
type Options struct {
	// Dir is the data directory, made with mode 0700. Empty: memory.
	Dir string
	// Network connects the replicas. Nil: there is only this one, and the next three fields are
	// ignored.
	Network Network
	// Name is this replica's name, which never changes.
	Name string
	// Address is where the others reach this replica, host:port.
	Address string
	// Start says what to do with an empty directory.
	Start Start
	// Observe, if not nil, is called with each applied entry, or with nil after a snapshot was
	// restored. It must not block, and may keep only records of the state.
	Observe func(*state.State, *statepb.Entry)
	// Logger gets Raft's lines, at debug level unless they are warnings. Nil: none.
	Logger *zap.Logger

	writeBound     time.Duration // default guard.WriteBound; for tests
	minGrowth      int64         // default minGrowth; for tests
	electionFactor time.Duration // by which elections are slower, default 1; for tests
}

// Start determines what a replica without state does.
type Start uint8

// Ways to start.
const (
	StartCluster Start = iota // begin a new cluster
	StartMember               // wait until the others make it a member
	// StartNever refuses to start: the replica had a state, and others may rely on its votes and
	// acknowledgements.
	StartNever
)

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.writeBound == 0 {
		o.writeBound = guard.WriteBound
	}
	if o.minGrowth == 0 {
		o.minGrowth = minGrowth
	}
	o.electionFactor = max(o.electionFactor, 1)
	if o.Network == nil {
		o.Name, o.Address, o.Start = loneName, loneName, StartCluster
	}
	return o
}

// Replica is one copy of the state. Its methods may be called concurrently.
type Replica struct {
	name        string
	address     string
	raft        *raft.Raft
	transport   transport
	stores      *stores
	observe     func(*state.State, *statepb.Entry)
	logger      *zap.Logger
	leaderWatch *leaderWatch
	rounds      rounds
	growth      *growth
	verifying   sync.WaitGroup // calls of Verify's rounds
	leadership  chan Leadership
	stop        chan struct{}
	stopped     sync.WaitGroup
	// open is held while waiting for an answer of Raft, since Raft drops some answers when it shuts
	// down.
	open   sync.RWMutex
	closed bool // guarded by open

	mu    sync.RWMutex
	state *state.State

	tooOld   chan error  // has room for one
	outdated atomic.Bool // tooOld was sent
}

// Open locks and reads the data directory and starts the replica. Its errors are one sentence that
// says what to do.
func Open(options Options) (*Replica, error) {
	options = options.withDefaults()
	stores, err := openStores(options)
	if err != nil {
		return nil, err
	}
	r := &Replica{
		name:        options.Name,
		address:     options.Address,
		observe:     options.Observe,
		leaderWatch: newLeaderWatch(options.Logger),
		stores:      stores,
		logger:      options.Logger,
		leadership:  make(chan Leadership, 1),
		stop:        make(chan struct{}),
		tooOld:      make(chan error, 1),
		growth:      newGrowth(options.minGrowth),
		state:       state.New(),
	}
	if err := r.start(stores, options); err != nil {
		if disk := stores.err(); disk != nil {
			err = disk // Raft's error wraps nothing
		}
		return nil, errors.Join(err, stores.Close())
	}
	return r, nil
}

// Commit appends the entry to the log, and returns once it is on disk and applied. After an error
// the caller's view of the state may be wrong. The error is ErrStale, ErrClosed, an error of
// package state, or one of the disk. After a disk error the entry may be applied later; after the
// others it has changed nothing.
func (r *Replica) Commit(entry *statepb.Entry) error {
	data, err := proto.Marshal(entry)
	if err != nil {
		return fmt.Errorf("cannot encode the entry: %w", err)
	}
	r.open.RLock()
	defer r.open.RUnlock()
	if r.closed {
		return ErrClosed
	}
	if err := r.Err(); err != nil {
		return fmt.Errorf("the change was not committed: %w", err)
	}
	future := r.raft.Apply(data, enqueueTimeout)
	_ = failpoint.Hit(failpoint.ProposeEnd) // cannot fail
	if err := future.Error(); err != nil {
		if disk := r.Err(); disk != nil {
			err = disk // Raft's error wraps nothing
		}
		return fmt.Errorf("the change was not committed: %w", translateError(err))
	}
	if err, ok := future.Response().(error); ok {
		return err
	}
	return nil
}

// Read calls f with the committed state. Records that f takes from it stay valid, see package
// state.
func (r *Replica) Read(f func(*state.State)) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	f(r.state)
}

// Failed is closed when the disk of the data directory has failed, see Err. This replica never
// leads again; its process should end and be restarted.
func (r *Replica) Failed() <-chan struct{} { return r.stores.failed() }

// Err returns why the disk has failed, a sentence that wraps ErrDisk, or nil.
func (r *Replica) Err() error { return r.stores.err() }

// TooOld gets one error, which wraps state.ErrProtocol, when the log switches to a protocol that
// this program does not understand. This replica then applies no more entries; its process should
// end.
func (r *Replica) TooOld() <-chan error { return r.tooOld }

// Close stops the replica and unlocks its directory. It waits for pending commits; later ones are
// refused. If the disk has failed it waits at most closeBound, and leaves blocked operations to the
// end of the process.
func (r *Replica) Close() error {
	close(r.stop)
	if r.Err() != nil {
		return r.closeFailed()
	}
	r.stopped.Wait()
	r.open.Lock()
	r.closed = true
	r.open.Unlock()
	r.verifying.Wait()
	ended, err := within(stopBound, r.raft.Shutdown().Error)
	if !ended {
		return errors.Join(errStuck, r.transport.Close()) // what still runs uses the stores
	}
	return errors.Join(err, r.transport.Close(), r.stores.Close())
}

// errStuck means that Raft did not shut down.
var errStuck = errors.New("the replication of the log does not stop; committed entries are on disk")

// closeFailed closes the connections to other servers before it unblocks Raft without a disk.
func (r *Replica) closeFailed() error {
	shutdown := r.raft.Shutdown()
	transport := r.transport.Close()
	r.stores.log.Release()
	ended, err := within(closeBound, func() error {
		defer r.stopped.Wait()
		return shutdown.Error()
	})
	if !ended {
		return transport
	}
	return errors.Join(transport, err, r.stores.Close())
}

// within calls wait, and reports whether it has ended within a bound. If not, it goes on.
func within(bound time.Duration, wait func() error) (ended bool, err error) {
	result := make(chan error, 1)
	go func() { result <- wait() }()
	limit := time.NewTimer(bound)
	defer limit.Stop()
	select {
	case err := <-result:
		return true, err
	case <-limit.C:
		return false, nil
	}
}
