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
	// enqueueTimeout bounds how long an entry may wait for the Raft loop, which
	// is otherwise busy only while the disk is.
	enqueueTimeout = 10 * time.Second
	// loneName names a replica without a network in the log's configuration.
	loneName = "server"
)

// ErrStale is returned if the entry was decided in another term than it was
// committed in. It has changed nothing; decide again.
var ErrStale = errors.New("the leader has changed")

// ErrClosed is returned if Close was called before Commit.
var ErrClosed = errors.New("the server is stopping")

// ErrDisk is wrapped by errors of a data directory whose disk fails. The process that
// uses it can do nothing more than end, and be started again.
var ErrDisk = guard.ErrDisk

// closeBound is how long Close waits for a Raft whose disk has failed, and which may
// wait for it.
const closeBound = 2 * time.Second

// stopBound is how long Close waits for a Raft whose disk is well: longer than any call to another
// server takes.
const stopBound = 10 * time.Second

// Options say where a replica keeps its state.
type Options struct {
	// Dir is the data directory, made with mode 0700. Empty: memory.
	Dir string
	// Network reaches the other replicas. Nil: there are none, ever, and what follows does not
	// matter.
	Network Network
	// Name is this replica's among them, which it keeps.
	Name string
	// Address is where the others reach it, host:port.
	Address string
	// Start is what becomes of an empty directory.
	Start Start
	// Observe, if not nil, is told each entry that was applied, or nil when the state was
	// read from a snapshot. It must not block, and keep nothing but records of the state.
	Observe func(*state.State, *statepb.Entry)
	// Logger gets Raft's own lines, at debug level unless they are warnings.
	// Nil: none.
	Logger *zap.Logger

	writeBound time.Duration // guard.WriteBound but in tests
}

// Start is what a replica does that has no state.
type Start uint8

// The ways to start.
const (
	StartCluster Start = iota // begin a new cluster
	StartMember               // wait until the others make it a member
	// StartNever refuses: the state was there once, and others may count on what this replica has
	// said.
	StartNever
)

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.writeBound == 0 {
		o.writeBound = guard.WriteBound
	}
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
	verifying   sync.WaitGroup // those that ask Raft for many
	leadership  chan Leadership
	stop        chan struct{}
	stopped     sync.WaitGroup
	// open is held by those who wait for an answer of Raft, which leaves some
	// without one when it is shut down.
	open   sync.RWMutex
	closed bool // guarded by open

	mu    sync.RWMutex
	state *state.State

	tooOld   chan error  // has room for one
	outdated atomic.Bool // tooOld was told
}

// Open locks and reads the data directory and starts the replica. The error is
// one sentence that says what to do.
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
		state:       state.New(),
	}
	if err := r.start(stores, options); err != nil {
		if disk := stores.err(); disk != nil {
			err = disk // Raft's error has its text alone
		}
		return nil, errors.Join(err, stores.Close())
	}
	return r, nil
}

// Commit puts the entry into the log and returns once it is on disk and
// applied. An error means that the caller's picture of the state may be wrong:
// ErrStale, ErrClosed, an error of package state, or one of the disk. Except for a disk
// error (then it may be applied later) the entry has changed nothing.
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
			err = disk // Raft's error has its text alone
		}
		return fmt.Errorf("the change was not committed: %w", translateError(err))
	}
	if err, ok := future.Response().(error); ok {
		return err
	}
	return nil
}

// Read lets f look at the committed state. What f takes out may be read on
// later, see package state.
func (r *Replica) Read(f func(*state.State)) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	f(r.state)
}

// Failed is closed when the disk of the data directory has failed, see Err. This replica
// leads no more and never will; its process should end, to be started again.
func (r *Replica) Failed() <-chan struct{} { return r.stores.failed() }

// Err says in one sentence, which wraps ErrDisk, why the disk cannot be used any more.
func (r *Replica) Err() error { return r.stores.err() }

// TooOld is told once, with a sentence that wraps state.ErrProtocol, when the log is written in a
// protocol that this program does not understand. This replica applies nothing any more; its
// process should end.
func (r *Replica) TooOld() <-chan error { return r.tooOld }

// Close stops the replica and unlocks its directory. It waits for commits under
// way; later ones are refused. When the disk has failed it waits closeBound at most,
// and leaves to the end of the process what hangs.
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
	shutdown := r.raft.Shutdown()
	down := make(chan error, 1)
	go func() { down <- shutdown.Error() }()
	limit := time.NewTimer(stopBound)
	defer limit.Stop()
	select {
	case err := <-down:
		return errors.Join(err, r.transport.Close(), r.stores.Close())
	case <-limit.C:
		return errors.Join(errStuck, r.transport.Close()) // what still runs uses the stores
	}
}

// errStuck is a Raft that does not end.
var errStuck = errors.New("the replication of the log does not end; what is committed is on disk")

// closeFailed cuts Raft off from other servers before it lets it go on without a disk.
func (r *Replica) closeFailed() error {
	shutdown := r.raft.Shutdown()
	err := r.transport.Close()
	r.stores.log.Release()
	down := make(chan error, 1)
	go func() {
		err := shutdown.Error()
		r.stopped.Wait()
		down <- err
	}()
	limit := time.NewTimer(closeBound)
	defer limit.Stop()
	select {
	case downErr := <-down:
		return errors.Join(err, downErr, r.stores.Close())
	case <-limit.C:
		return err
	}
}
