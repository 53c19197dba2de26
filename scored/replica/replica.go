package replica

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"score/scored/failpoint"
	"score/scored/state"
	"score/scored/state/statepb"
)

const (
	// enqueueTimeout bounds how long an entry may wait for the Raft loop, which
	// is otherwise busy only while the disk is.
	enqueueTimeout = 10 * time.Second
	// snapshotThreshold is after how many entries the log is cut: at most this
	// many are applied again when a server starts, which takes some 100 ms.
	snapshotThreshold = 8192
	// snapshotInterval is how often the threshold is looked at.
	snapshotInterval = time.Minute
	// trailingLogs stay in the log after a snapshot, for replicas that are a
	// little behind.
	trailingLogs = 1024
	// electionTimeout is that of a cluster with a network between replicas. A
	// single replica does not wait for it, see elect.
	electionTimeout = time.Second
	// leaseTimeout is after how long without contact a leader steps down.
	leaseTimeout = 500 * time.Millisecond
	// localID names the single replica in the log's configuration.
	localID = "server"
)

// ErrStale says that the entry was decided in another term than it was
// committed in: it has changed nothing, and the decider must look again.
var ErrStale = errors.New("the leader has changed")

// ErrClosed says that Close was called before Commit.
var ErrClosed = errors.New("the replica is closed")

// Options say where a replica keeps its state.
type Options struct {
	// Dir is the data directory, made with mode 0700. Empty: memory.
	Dir string
	// Logger gets Raft's own lines, at debug level unless they are warnings.
	// Nil: none.
	Logger *zap.Logger
}

// Leadership tells that this replica leads since the term began, or no more.
type Leadership struct {
	Leader bool
	Term   uint64
}

// Replica is one copy of the state. Its methods may be called at once.
type Replica struct {
	raft       *raft.Raft
	transport  *raft.InmemTransport
	close      io.Closer
	logger     *zap.Logger
	leadership chan Leadership
	stop       chan struct{}
	stopped    sync.WaitGroup
	// open is held by those who wait for an answer of Raft, which leaves some
	// without one when it is shut down.
	open   sync.RWMutex
	closed bool // guarded by open

	mu    sync.RWMutex
	state *state.State
}

// Open locks and reads the data directory and starts the replica. The error is
// one sentence that says what to do.
func Open(options Options) (*Replica, error) {
	if options.Logger == nil {
		options.Logger = zap.NewNop()
	}
	stores, err := openStores(options)
	if err != nil {
		return nil, err
	}
	r := &Replica{
		close:      stores,
		logger:     options.Logger,
		leadership: make(chan Leadership, 1),
		stop:       make(chan struct{}),
		state:      state.New(),
	}
	if err := r.start(stores); err != nil {
		return nil, errors.Join(err, stores.Close())
	}
	return r, nil
}

func (r *Replica) start(stores *stores) error {
	address, transport := raft.NewInmemTransport(localID)
	r.transport = transport
	transport.Connect(address, transport)
	changes := make(chan bool, 8)
	config := raftConfig(r.logger, changes)
	if !stores.existing {
		first := raft.Configuration{Servers: []raft.Server{{ID: localID, Address: address}}}
		if err := raft.BootstrapCluster(config, stores.logs, stores.stable, stores.snapshots, transport, first); err != nil {
			return fmt.Errorf("cannot begin a new log: %w", err)
		}
	}
	node, err := raft.NewRaft(config, (*machine)(r), stores.logs, stores.stable, stores.snapshots, transport)
	if err != nil {
		return fmt.Errorf("cannot read the log: %w", err)
	}
	r.raft = node
	r.stopped.Go(func() { r.watch(changes) })
	r.elect(address)
	return nil
}

func raftConfig(logger *zap.Logger, changes chan<- bool) *raft.Config {
	config := raft.DefaultConfig()
	config.LocalID = localID
	config.HeartbeatTimeout = electionTimeout
	config.ElectionTimeout = electionTimeout
	config.LeaderLeaseTimeout = leaseTimeout
	config.SnapshotThreshold = snapshotThreshold
	config.SnapshotInterval = snapshotInterval
	config.TrailingLogs = trailingLogs
	config.NotifyCh = changes
	config.NoLegacyTelemetry = true
	config.Logger = newRaftLogger(logger)
	return config
}

// elect asks the single replica to stand for election now (the TimeoutNow
// request of Raft's leadership transfer): there is nobody else whose heartbeat
// it could wait for. If the request is lost, the election timeout remains.
func (r *Replica) elect(address raft.ServerAddress) {
	request := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}}
	if err := r.transport.TimeoutNow(localID, address, request, new(raft.TimeoutNowResponse)); err != nil {
		r.logger.Debug("election not hastened", zap.Error(err))
	}
}

// watch turns Raft's changes of leadership into ours, each with its term and
// with every entry of earlier terms applied.
func (r *Replica) watch(changes <-chan bool) {
	for {
		select {
		case <-r.stop:
			return
		case leader := <-changes:
			next := Leadership{Leader: leader}
			if leader {
				if err := r.raft.Barrier(enqueueTimeout).Error(); err != nil {
					r.logger.Debug("leadership lost at once", zap.Error(err))
					continue
				}
				next.Term = r.raft.CurrentTerm()
			}
			select {
			case r.leadership <- next:
			case <-r.stop:
				return
			}
		}
	}
}

// Leadership tells every change, first that this replica has become leader.
func (r *Replica) Leadership() <-chan Leadership { return r.leadership }

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
	future := r.raft.Apply(data, enqueueTimeout)
	_ = failpoint.Hit(failpoint.ProposeEnd) // cannot fail
	if err := future.Error(); err != nil {
		return fmt.Errorf("the change was not committed: %w", err)
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

// Close stops the replica and unlocks its directory. It waits for commits under
// way; later ones are refused.
func (r *Replica) Close() error {
	close(r.stop)
	r.stopped.Wait()
	r.open.Lock()
	r.closed = true
	r.open.Unlock()
	err := r.raft.Shutdown().Error()
	return errors.Join(err, r.transport.Close(), r.close.Close())
}
