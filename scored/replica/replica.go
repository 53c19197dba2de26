package replica

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"score/scored/failpoint"
	"score/scored/replica/guard"
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
	// electionTimeout is after how long without a word of the leader, up to twice of it, a replica stands for
	// election: another leads within two seconds, even when the first vote is split, and a machine
	// under load is not taken for dead. A single replica does not wait for it, see elect.
	electionTimeout = 500 * time.Millisecond
	// leaseTimeout is after how long without contact to a majority a leader steps down: before the others have elected one.
	leaseTimeout = 400 * time.Millisecond
	// loneName names a replica without a network in the log's configuration.
	loneName = "server"
)

// LeaseTimeout is for how long a majority's word that a replica leads can be relied on: no other is elected sooner.
const LeaseTimeout = leaseTimeout

// ErrStale says that the entry was decided in another term than it was
// committed in: it has changed nothing, and the decider must look again.
var ErrStale = errors.New("the leader has changed")

// ErrClosed says that Close was called before Commit.
var ErrClosed = errors.New("the server is stopping")

// ErrDisk is wrapped by errors of a data directory whose disk fails. The process that
// uses it can do nothing more than end, and be started again.
var ErrDisk = guard.ErrDisk

// closeBound is how long Close waits for a Raft whose disk has failed, and which may
// wait for it.
const closeBound = 2 * time.Second

// Options say where a replica keeps its state.
type Options struct {
	// Dir is the data directory, made with mode 0700. Empty: memory.
	Dir string
	// Network reaches the other replicas. Nil: there are none, ever, and what follows does not matter.
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
}

// Start is what a replica does that has no state.
type Start uint8

// The ways to start.
const (
	StartCluster Start = iota // begin a new cluster
	StartMember               // wait until the others make it a member
	// StartNever refuses: the state was there once, and others may count on what this replica has said.
	StartNever
)

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.Network == nil {
		o.Name, o.Address, o.Start = loneName, loneName, StartCluster
	}
	return o
}

// Leadership tells that this replica leads since the term began, or no more.
type Leadership struct {
	Leader bool
	Term   uint64
}

// Replica is one copy of the state. Its methods may be called at once.
type Replica struct {
	name       string
	address    string
	raft       *raft.Raft
	transport  transport
	stores     *stores
	observe    func(*state.State, *statepb.Entry)
	logger     *zap.Logger
	news       *news
	rounds     rounds
	asking     sync.WaitGroup // those that ask Raft for many
	leadership chan Leadership
	stop       chan struct{}
	stopped    sync.WaitGroup
	// open is held by those who wait for an answer of Raft, which leaves some
	// without one when it is shut down.
	open   sync.RWMutex
	closed bool // guarded by open

	mu    sync.RWMutex
	state *state.State

	tooOld chan error  // has room for one
	behind atomic.Bool // tooOld was told
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
		name:       options.Name,
		address:    options.Address,
		observe:    options.Observe,
		news:       newNews(options.Logger),
		stores:     stores,
		logger:     options.Logger,
		leadership: make(chan Leadership, 1),
		stop:       make(chan struct{}),
		tooOld:     make(chan error, 1),
		state:      state.New(),
	}
	if err := r.start(stores, options); err != nil {
		if disk := stores.err(); disk != nil {
			err = disk // Raft's error has its text alone
		}
		return nil, errors.Join(err, stores.Close())
	}
	return r, nil
}

func (r *Replica) start(stores *stores, options Options) error {
	changes := make(chan bool, 8)
	config := raftConfig(options.Name, r.logger, changes)
	r.transport = newTransport(options, config)
	us := raft.Server{ID: config.LocalID, Address: r.transport.LocalAddr()}
	if !stores.existing && options.Start == StartNever {
		return fmt.Errorf("%w %q is empty, and this server had a state. If the cluster has others: run 'scored server remove %s' there, remove the certificates here, and join it with a new token. If it has none and shall begin anew: 'scored server --begin'", ErrDirectory, options.Dir, options.Name)
	}
	if !stores.existing && options.Start == StartCluster {
		first := raft.Configuration{Servers: []raft.Server{us}}
		if err := raft.BootstrapCluster(config, stores.logs, stores.first, stores.snapshots, r.transport, first); err != nil {
			return fmt.Errorf("cannot begin a new log: %w", err)
		}
	}
	if err := r.settleName(options, config, stores, us); err != nil {
		return err
	}
	node, err := stores.newRaft(config, (*machine)(r), r.transport)
	if err != nil {
		return fmt.Errorf("cannot read the log: %w", err)
	}
	r.raft = node
	r.transport.begin()
	r.stopped.Go(func() { r.watch(changes) })
	r.hear()
	r.hasten()
	return nil
}

// settleName has the directory and its log know whose they are, before others do.
func (r *Replica) settleName(options Options, config *raft.Config, stores *stores, us raft.Server) error {
	if !stores.nameless || options.Network == nil {
		return nil
	}
	if stores.existing {
		if err := rename(config, stores, r.transport, us); err != nil {
			return err
		}
	}
	return keepName(options.Dir, options.Name)
}

// rename gives the only replica of a cluster that had no network a name and an address in the log.
func rename(config *raft.Config, stores *stores, transport raft.Transport, us raft.Server) error {
	next := raft.Configuration{Servers: []raft.Server{us}}
	if err := raft.RecoverCluster(config, scratch(), stores.logs, stores.stable, stores.snapshots, transport, next); err != nil {
		return fmt.Errorf("cannot name this server in the log: %w", err)
	}
	return nil
}

func raftConfig(name string, logger *zap.Logger, changes chan<- bool) *raft.Config {
	config := raft.DefaultConfig()
	config.LocalID = raft.ServerID(name)
	config.HeartbeatTimeout = electionTimeout
	config.ElectionTimeout = electionTimeout
	config.LeaderLeaseTimeout = leaseTimeout
	config.SnapshotThreshold = snapshotThreshold
	config.SnapshotInterval = snapshotInterval
	config.TrailingLogs = trailingLogs
	config.NotifyCh = changes
	config.ShutdownOnRemove = false // it is told so, and then ends in order
	config.NoLegacyTelemetry = true
	config.Logger = newRaftLogger(logger)
	return config
}

// hasten asks a replica that is the only voter to stand for election now (the TimeoutNow
// request of Raft's leadership transfer): there is nobody else whose heartbeat
// it could wait for.
func (r *Replica) hasten() {
	list, err := r.Servers()
	if err != nil {
		return
	}
	voters := slices.DeleteFunc(list, func(s Server) bool { return !s.Voter })
	if len(voters) == 1 && voters[0].Name == r.name {
		r.transport.elect()
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
				r.moveOwn()
			}
			select {
			case r.leadership <- next:
			case <-r.stop:
				return
			}
		}
	}
}

// moveOwn notes in the log that this replica, which leads, is to be reached elsewhere than before.
func (r *Replica) moveOwn() {
	list, err := r.Servers()
	if err != nil {
		return
	}
	if us, ok := find(list, r.name); ok && us.Address != r.address {
		r.raft.AddVoter(raft.ServerID(r.name), raft.ServerAddress(r.address), 0, configTimeout)
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
	if err := r.Err(); err != nil {
		return fmt.Errorf("the change was not committed: %w", err)
	}
	future := r.raft.Apply(data, enqueueTimeout)
	_ = failpoint.Hit(failpoint.ProposeEnd) // cannot fail
	if err := future.Error(); err != nil {
		if disk := r.Err(); disk != nil {
			err = disk // Raft's error has its text alone
		}
		return fmt.Errorf("the change was not committed: %w", inWords(err))
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

// TooOld is told once, with a sentence that wraps state.ErrProtocol, when the log is written in a protocol that this program does not
// understand. This replica applies nothing any more; its process should end.
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
	r.asking.Wait()
	err := r.raft.Shutdown().Error()
	return errors.Join(err, r.transport.Close(), r.stores.Close())
}

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
