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
	// maxInputs bounds what waits to be decided. Whoever comes later waits
	// until there is room.
	maxInputs = 1024
	// maxBatch bounds the inputs that are decided before the world is told what
	// came of the first.
	maxBatch = 128
	// maxEntry bounds the commands of one entry, so that the log is never busy
	// with one for long.
	maxEntry = 512
	// lazyDelay is how long a command for which nobody waits may be held back,
	// so that a short job costs two commits and not three.
	lazyDelay = 20 * time.Millisecond
	// linkCheck is how often silent streams are looked for.
	linkCheck = 250 * time.Millisecond
	// retryDelay is the pause after a commit that failed.
	retryDelay = 200 * time.Millisecond
)

// Replica is the log and the state it has made, see package replica.
type Replica interface {
	Leadership() <-chan replica.Leadership
	Commit(*statepb.Entry) error
	Read(func(*state.State))
	// Verify asks a majority whether this replica leads.
	Verify(context.Context) error
	// Name is this replica's, Leader whose leads; "": nobody, as far as is known.
	Name() string
	Leader() (name, address string)
	// LeaderChanged is closed when Leader may give another answer.
	LeaderChanged() <-chan struct{}
}

// Options of a Leader. Replica, Cluster and Version are needed.
type Options struct {
	Replica Replica
	Cluster string
	Version string
	// JobSecret is what the keys of jobs are derived from, the same with each server. Agents do not
	// know it.
	JobSecret []byte
	// Settings of a cluster that has no state yet; nil: the defaults.
	Settings *scorev1.Settings
	// SingleUser says that the cluster is one job's alone, so that nobody has to
	// be protected from a job that did not say how much memory it needs.
	SingleUser bool
	// ShareCPUs lets the ranks of a job that asks for more CPUs than there are share them, unless
	// the job says otherwise: on a single host there are no more nodes to ask for.
	ShareCPUs bool
	// ObserveCommit, if not nil, is told how long each commit took.
	ObserveCommit func(time.Duration)
	// ObserveRevoked, if not nil, is told the serial numbers of the certificates that are no longer
	// taken, when this server begins to lead and whenever they change.
	ObserveRevoked func(serials [][]byte)
	// Logger gets one line per event. Nil: none.
	Logger *zap.Logger
}

// Leader runs the controller while this server leads. Its methods may be called at
// once; they wait while no server leads, for leaderWait at most, or until their
// context ends.
type Leader struct {
	options Options
	logger  *zap.Logger
	inputs  chan func(*controller) // told nil while another server leads
	probes  chan struct{}
	batches chan batch
	results chan result
	stopped chan struct{} // Run is over
	leading chan struct{} // closed when this server first leads
	once    sync.Once

	clock    atomic.Pointer[Clock]
	term     atomic.Uint64
	deciding atomic.Bool // there is a controller

	// What follows belongs to the goroutine of Run.
	controller *controller // nil while another server leads, or none
	lead       replica.Leadership
	committed  uint64    // of controller's commands
	given      numbers   // by the controller before
	busy       bool      // a batch is being committed
	confirmed  time.Time // when a majority last was asked, and said that this server leads
}

type batch struct {
	controller *controller
	entry      *statepb.Entry
	taken      uint64    // controller's commands up to and with this entry
	began      time.Time // when it was handed to the log
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

// Now is the cluster's time, and the term of the leader who says so.
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
			inputs = nil // they wait
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

// onLeadership takes the leadership up or lays it down.
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
		if s.Nanos() == 0 { // of a new cluster this is the only server
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

// abandon lets the controller go. Agents connect again, and clients that wait are
// told why their wait was in vain.
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

// decide handles an input and what else has come meanwhile.
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

// wake is due when a deadline of the controller has come, or the pause after a
// failed commit is over.
func (l *Leader) wake() {
	switch {
	case l.controller != nil:
		l.controller.now = l.clock.Load().Now()
	case l.lead.Leader && !l.busy && time.Since(l.confirmed) <= replica.LeaseTimeout:
		l.startLeading()
	}
}

// proceed draws the conclusions, tells the world what may be told, hands the
// rest to the log, and sets the timer for what comes by itself.
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

// act does what waits for nothing any more. Doing it can call for more.
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
