package leader

import (
	"context"
	"score/scored/api/scorev1"
	"score/scored/replica"
	"score/scored/state"
	"score/scored/state/statepb"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// Replica is the log and its state, see package replica.
type Replica interface {
	Leadership() <-chan replica.Leadership
	Commit(*statepb.Entry) error
	Read(func(*state.State))
	// Verify asks a majority whether this replica leads.
	Verify(context.Context) error
	// Name is this replica's name, Leader the leader's; "": unknown.
	Name() string
	Leader() (name, address string)
	// LeaderChanged is closed when Leader may give another answer.
	LeaderChanged() <-chan struct{}
}

// Options of a Leader. Replica, Cluster and Version are required.
type Options struct {
	Replica Replica
	Cluster string
	Version string
	// JobSecret is what the keys of jobs are derived from. All servers have it, and agents do not.
	JobSecret []byte
	// Settings are the settings of a new cluster; nil: the defaults.
	Settings *scorev1.Settings
	// SingleUser marks a cluster for one job: it needs no protection from a job that does not say
	// how much memory it needs.
	SingleUser bool
	// ShareCPUs lets the ranks of a job that asks for more CPUs than there are share them, unless
	// the job says otherwise: a single host has no other nodes.
	ShareCPUs bool
	// StartNodes is how many nodes a new cluster awaits before it takes jobs, if its nodes start
	// together with this server; 0: none. Jobs submitted meanwhile get ErrStarting.
	StartNodes int
	// ObserveCommit, if not nil, is called with the duration of each commit.
	ObserveCommit func(time.Duration)
	// ObserveRevoked, if not nil, is called with the serial numbers of revoked certificates when
	// this server starts to lead, and whenever they change.
	ObserveRevoked func(serials [][]byte)
	// Logger gets one line per event. Nil: none.
	Logger *zap.Logger
}

// Leader runs the controller while this server leads. Its methods may be called concurrently. While
// no server leads they block, at most for leaderWait or until their context ends.
type Leader struct {
	options Options
	logger  *zap.Logger
	inputs  chan func(*controller) // called with nil while another server leads
	probes  chan struct{}
	batches chan batch
	results chan result
	stopped chan struct{} // closed when Run has returned
	leading chan struct{} // closed when this server first leads
	once    sync.Once

	clock    atomic.Pointer[Clock]
	term     atomic.Uint64
	deciding atomic.Bool // there is a controller

	// The rest belongs to the goroutine of Run.
	controller *controller // nil while this server does not lead
	lead       replica.Leadership
	committed  uint64    // of controller's commands
	given      numbers   // by the previous controller
	busy       bool      // a batch is being committed
	confirmed  time.Time // when a majority last confirmed that this server leads
}

// New makes a Leader; Run runs it.
func New(options Options) *Leader {
	if options.Logger == nil {
		options.Logger = zap.NewNop()
	}
	l := &Leader{
		options: options,
		logger:  options.Logger,
		inputs:  make(chan func(*controller), maxInputs),
		probes:  make(chan struct{}),
		batches: make(chan batch, 1),
		results: make(chan result, 1),
		stopped: make(chan struct{}),
		leading: make(chan struct{}),
	}
	l.clock.Store(newClock(0))
	return l
}

// Leading is closed once this server has led for the first time.
func (l *Leader) Leading() <-chan struct{} { return l.leading }

// Now returns the cluster's time, and the term of the leader whose clock it is.
func (l *Leader) Now() (nanos int64, term uint64) {
	return l.clock.Load().Now(), l.term.Load()
}
