package stewards

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"score/nodeagent/cgroup"
	"score/nodeagent/steward/client"
)

const (
	// startWait is how long a new process may take to answer, on a machine
	// whose CPUs are full of spinning ranks.
	startWait = 10 * time.Second
	// closeWait bounds one attempt to remove a group; the kernel needs
	// microseconds once the processes are gone.
	closeWait = 2 * time.Second
	// retireWait is how long a steward may take to exit after Forget while nobody
	// reads its output: it waits 10 s for a reader.
	retireWait = 15 * time.Second
	// quiet is how long nothing must have been launched before a steward is
	// started: ranks of a short job are over by then.
	quiet = 20 * time.Millisecond
	// refillLatest is how long a missing steward may be put off by launches that
	// follow each other closely.
	refillLatest = 500 * time.Millisecond
	// retryEvery is the time between two attempts to start a steward, or to
	// remove a group, after one failed.
	retryEvery = time.Second
)

// ErrClosed means that the pool has been closed.
var ErrClosed = errors.New("the node is being shut down")

// Options of a Pool.
type Options struct {
	// Exe is run as steward.
	Exe string
	// RunDir holds the sockets.
	RunDir        string
	Cluster, Node string
	// Root has the groups of the slots; nil: signals are used instead.
	Root *cgroup.Root
	// Warm is how many wait for jobs.
	Warm int
	// Grace is how long a steward goes on without the agent.
	Grace time.Duration
	// Stderr takes the stewards' own complaints; nil: dropped.
	Stderr *os.File
	Logger *zap.Logger
}

// Pool has the stewards of one node.
type Pool struct {
	options Options
	kick    chan struct{} // tells Run that something has changed
	working sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	used      map[int]bool // slot numbers
	warm      []*Steward
	starting  int
	launching int
	busyUntil time.Time  // when the last launch is quiet
	shortage  time.Time  // since when one is missing; zero: none is
	failedAt  time.Time  // of the last start that failed
	stuck     []*Steward // whose container could not be removed yet
}

// Open sweeps away what a dead agent of the same name has left, and makes a
// pool that has no steward yet.
func Open(options Options) (*Pool, error) {
	if options.Logger == nil {
		options.Logger = zap.NewNop()
	}
	if err := sweep(&options); err != nil {
		return nil, err
	}
	return &Pool{options: options, kick: make(chan struct{}, 1), used: make(map[int]bool)}, nil
}

// Warm tells how many stewards wait for a job.
func (p *Pool) Warm() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.warm)
}

// Claim gives out a warm steward, or starts one if there is none. From now on
// the events are told.
func (p *Pool) Claim(ctx context.Context, events client.Events) (*Steward, error) {
	for {
		s, err := p.take(ctx)
		if err != nil {
			return nil, err
		}
		if s.claim(events) == nil {
			return s, nil
		}
		p.discard(s)
	}
}

func (p *Pool) take(ctx context.Context) (*Steward, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	if n := len(p.warm); n > 0 {
		s := p.warm[n-1]
		p.warm = p.warm[:n-1]
		p.mu.Unlock()
		p.wake()
		return s, nil
	}
	number := p.reserve()
	p.mu.Unlock()
	defer p.working.Done()
	return p.start(ctx, number)
}

// reserve takes the lowest free slot. The caller holds mu, and must call
// working.Done when the steward has been started or not.
func (p *Pool) reserve() int {
	number := 0
	for p.used[number] {
		number++
	}
	p.used[number] = true
	p.working.Add(1)
	return number
}

func (p *Pool) start(ctx context.Context, number int) (*Steward, error) {
	s, err := start(ctx, &p.options, number, p.wake)
	if err != nil {
		p.free(number)
		return nil, fmt.Errorf("no steward for the job: %w", err)
	}
	return s, nil
}

func (p *Pool) free(number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, number)
}

// Launching puts off the start of new stewards until the function it returns
// has been called.
func (p *Pool) Launching() (done func()) {
	p.mu.Lock()
	p.launching++
	p.mu.Unlock()
	return sync.OnceFunc(func() {
		p.mu.Lock()
		p.launching--
		p.busyUntil = time.Now().Add(quiet)
		p.mu.Unlock()
		p.wake()
	})
}

// Retire ends a steward whose job is over and forgotten, and removes what it
// had. The steward goes when its last output has been read. While reading says
// that somebody does, it is waited for; otherwise it is ended after some
// seconds, and at once when ctx ends.
func (p *Pool) Retire(ctx context.Context, s *Steward, reading func() bool) {
	s.leave(ctx, reading)
	p.discard(s)
}

// discard removes what there is of a steward.
func (p *Pool) discard(s *Steward) {
	if err := s.destroy(time.Now().Add(closeWait)); err != nil {
		p.options.Logger.Warn("the container of a job cannot be removed yet", zap.Int("slot", s.Number), zap.Error(err))
		p.mu.Lock()
		p.stuck = append(p.stuck, s)
		p.mu.Unlock()
	} else {
		p.free(s.Number)
	}
	p.wake()
}

// Close ends all stewards that have no job, and waits for what is under way.
// The error names what could not be removed until ctx ended.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	warm := p.warm
	p.warm = nil
	p.mu.Unlock()
	p.working.Wait()
	for _, s := range warm {
		p.discard(s)
	}
	var failed []error
	for _, s := range p.takeStuck() {
		deadline, ok := ctx.Deadline()
		if !ok {
			deadline = time.Now().Add(closeWait)
		}
		failed = append(failed, s.destroy(deadline))
	}
	if p.options.Root != nil {
		failed = append(failed, p.options.Root.Remove())
	}
	return errors.Join(failed...)
}

func (p *Pool) takeStuck() []*Steward {
	p.mu.Lock()
	defer p.mu.Unlock()
	stuck := p.stuck
	p.stuck = nil
	return stuck
}

func (p *Pool) wake() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}
