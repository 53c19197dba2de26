package leader

import (
	"context"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/replica"
	"score/scored/state"
	"score/scored/state/statepb"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

const (
	// maxInputs bounds the queued inputs; further callers block.
	maxInputs = 1024
	// maxBatch bounds the inputs that are decided before effects are carried out.
	maxBatch = 128
	// maxEntry bounds the commands of one entry, so that the log is never busy with one for long.
	maxEntry = 512
	// maxEntryBytes bounds them as well, unless there is only one: a submission has up to 2 MiB, and
	// an entry must reach the other servers and their disks within the time of a call.
	maxEntryBytes = 4 << 20
	// lazyDelay is how long a command that no effect waits for may be held back, so that a short
	// job costs two commits instead of three.
	lazyDelay = 20 * time.Millisecond
	// linkCheck is the interval of the check for silent streams.
	linkCheck = 250 * time.Millisecond
	// retryDelay is the pause after a commit that failed.
	retryDelay = 200 * time.Millisecond
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

type batch struct {
	controller *controller
	entry      *statepb.Entry
	taken      uint64    // controller's commands up to and including this entry
	began      time.Time // when it was given to the log
}

type result struct {
	batch
	err error
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

// Run decides until ctx ends. It may be called once.
func (l *Leader) Run(ctx context.Context) error {
	var committing sync.WaitGroup
	committing.Go(l.commitAll)
	defer committing.Wait()
	defer close(l.batches)
	defer close(l.stopped)
	defer func() { l.abandon(ErrStopped) }()

	timer := time.NewTimer(0)
	defer timer.Stop()
	links := time.NewTicker(linkCheck)
	defer links.Stop()
	for {
		inputs := l.inputs
		if l.controller == nil && !l.otherLeads() {
			inputs = nil // inputs wait until the batch is committed
		}
		select {
		case <-l.options.Replica.LeaderChanged():
		case <-ctx.Done():
			return nil
		case lead := <-l.options.Replica.Leadership():
			l.onLeadership(lead)
		case input := <-inputs:
			l.verifyLeadership(ctx)
			l.decide(input)
		case <-l.probes:
			continue // Alive has its answer
		case r := <-l.results:
			l.finish(r)
		case <-timer.C:
			l.verifyLeadership(ctx)
			l.wake()
		case <-links.C:
			l.verifyLeadership(ctx)
			if l.controller != nil {
				l.controller.now = l.clock.Load().Now()
				l.controller.checkLinks()
			}
		}
		l.proceed(timer)
	}
}

// onLeadership handles the start and the end of this server's leadership.
func (l *Leader) onLeadership(lead replica.Leadership) {
	l.abandon(ErrLost)
	l.lead = lead
	if lead.Leader {
		l.confirmed = time.Now() // an entry of its term is committed
		l.startLeading()
	}
}

// startLeading makes the controller from the committed state.
func (l *Leader) startLeading() {
	l.options.Replica.Read(func(s *state.State) {
		clock := newClock(s.Nanos())
		l.clock.Store(clock)
		l.term.Store(l.lead.Term)
		l.committed = 0
		l.controller = newController(l.options.Cluster, l.options.Version, l.lead.Term, s, clock.Now())
		l.controller.continueFrom(l.given)
		l.controller.singleUser, l.controller.shareCPUs, l.controller.jobSecret = l.options.SingleUser, l.options.ShareCPUs, l.options.JobSecret
		l.controller.readState = l.options.Replica.Read
		if observe := l.options.ObserveRevoked; observe != nil {
			l.controller.members.observe = observe
			observe(l.controller.members.revoked())
		}
		if s.Nanos() == 0 { // in a new cluster this is the only server
			l.controller.raiseProtocol(protocol.Own().Newest)
		}
		if l.options.Settings != nil && s.Nanos() == 0 {
			if err := l.controller.applySettings(l.options.Settings); err != nil {
				l.logger.Error("the configured settings are not used", zap.Error(err))
			}
		}
	})
	l.deciding.Store(true)
	l.logger.Info("leading", zap.Uint64("term", l.lead.Term))
	l.once.Do(func() { close(l.leading) })
}

// abandon drops the controller. Agents connect again, and pending callers get an error.
func (l *Leader) abandon(why error) {
	c := l.controller
	if c == nil {
		return
	}
	l.controller, l.given = nil, c.numbers()
	l.deciding.Store(false)
	defer close(c.abandoned)
	for _, e := range c.effects {
		if e.call != nil {
			e.call(why)
		}
		if e.watcher != nil {
			e.watcher.breakOff()
		}
	}
	for _, n := range c.nodes {
		if n.link != nil {
			n.link.Close("")
		}
	}
	for _, j := range c.jobs {
		for _, w := range j.watchers {
			w.breakOff()
		}
	}
}

// decide handles an input and those that have come meanwhile.
func (l *Leader) decide(input func(*controller)) {
	if l.controller == nil {
		input(nil) // another server leads
		return
	}
	l.controller.now = l.clock.Load().Now()
	input(l.controller)
	for range maxBatch - 1 {
		select {
		case input := <-l.inputs:
			input(l.controller)
		default:
			return
		}
	}
}

// wake runs when a deadline of the controller has come, or after the pause that follows a failed
// commit.
func (l *Leader) wake() {
	switch {
	case l.controller != nil:
		l.controller.now = l.clock.Load().Now()
	case l.lead.Leader && !l.busy && time.Since(l.confirmed) <= replica.LeaseTimeout:
		l.startLeading()
	}
}

// proceed advances the controller, carries out effects that are due, starts the next commit, and
// sets the timer for the next deadline.
func (l *Leader) proceed(timer *time.Timer) {
	c := l.controller
	if c == nil {
		if l.lead.Leader {
			timer.Reset(retryDelay)
		}
		return
	}
	c.advance()
	l.act()
	if !l.busy && l.worthCommitting() {
		l.commit()
	}
	if at := l.nextWake(); at != 0 {
		timer.Reset(time.Duration(at - l.clock.Load().Now()))
	} else {
		timer.Stop()
	}
}

// act carries out effects that wait for nothing any more. That can cause more effects.
func (l *Leader) act() {
	for {
		ready := l.controller.due(l.committed)
		if len(ready) == 0 {
			return
		}
		for i := range ready {
			l.perform(&ready[i])
		}
	}
}

func (l *Leader) perform(e *effect) {
	switch {
	case e.message != nil:
		e.link.Send(e.message)
	case e.close:
		e.link.Close(e.reason)
	case e.watcher != nil:
		e.watcher.deliver(e.event)
	case e.call != nil:
		e.call(nil)
	default:
		l.logger.Info(e.line, e.fields...)
	}
}
