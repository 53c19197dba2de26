package stewardpool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"score/nodeagent/cgroup"
	"score/nodeagent/privateshm"
	"score/nodeagent/steward/client"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	// startWait is how long a new process may take to answer on a machine whose CPUs are busy with
	// spinning ranks.
	startWait = 10 * time.Second
	// closeWait bounds one attempt to remove a group; the kernel needs microseconds after the
	// processes have ended.
	closeWait = 2 * time.Second
	// retireWait is how long a steward may take to exit after Forget while nobody reads its output.
	// It waits 10 s for a reader.
	retireWait = 15 * time.Second
	// quiet is the time without launches after which a steward is started: the ranks of a short job
	// have ended by then.
	quiet = 20 * time.Millisecond
	// refillLatest bounds the time for which frequent launches can delay the start of a missing
	// steward.
	refillLatest = 500 * time.Millisecond
	// retryEvery is the time between two attempts to start a steward, or to
	// remove a group, after one failed.
	retryEvery = time.Second
	// usedPerWarm is the number of used stewards that are kept for further jobs of their users, for
	// each fresh one: enough for two users who submit job after job. Each takes some 10 MB.
	usedPerWarm = 2
	// maxCharged bounds the memory, in bytes, that may be charged to a group that is used again:
	// pages of files that the last job was the first to read, which the kernel reclaims on demand.
	maxCharged = 4 << 20
	// FreshBelow is the memory limit, in bytes, below which a job should have a fresh group: with a
	// used one up to 1/16 of this limit can be charged for an earlier job.
	FreshBelow = 16 * maxCharged
)

// ErrClosed means that the pool has been closed.
var ErrClosed = errors.New("the node is being shut down")

// Options of a Pool.
type Options struct {
	// Exe is the program that runs as steward.
	Exe string
	// RunDir holds the sockets.
	RunDir        string
	Cluster, Node string
	// Root is the parent of the slots' control groups; nil: signals are used instead.
	Root *cgroup.Root
	// PrivateShm gives jobs a /dev/shm of their own.
	PrivateShm bool
	// PrivateIPC gives them an IPC namespace of their own. It needs PrivateShm.
	PrivateIPC bool
	// Warm is the number of fresh stewards that wait for jobs of any user. Used stewards wait for
	// further jobs of the same user.
	Warm int
	// Grace is how long a steward goes on without the agent.
	Grace time.Duration
	// CPUs are the kernel's numbers of the CPUs that the stewards keep to; none: all that this
	// process may use.
	CPUs []int
	// Stderr gets the stewards' own error messages; nil: they are dropped.
	Stderr *os.File
	Logger *zap.Logger
}

// Pool holds the stewards of one node.
type Pool struct {
	options Options
	kick    chan struct{} // wakes Run after a change
	working sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	used      map[int]bool // slot numbers
	warm      []*Steward   // the longest-waiting first
	launching int
	busyUntil time.Time  // end of the last launch, plus quiet
	shortage  time.Time  // since when a steward is missing; zero: none is
	failedAt  time.Time  // of the last start that failed
	stuck     []*remains // slots that could not be removed yet
	hung      []*host    // killed stewards that have not ended
	// mountChanges counts changes of the host's mounts that stewards do not see; only for those
	// with a /dev/shm of their own.
	mountChanges int
	hostMounts   *privateshm.Mounts
}

// Open returns a pool, and the stewards with jobs that a dead agent of the same name has left. It
// removes everything else that the agent has left.
func Open(options Options) (*Pool, []*Orphan, error) {
	if options.Logger == nil {
		options.Logger = zap.NewNop()
	}
	orphans, left, err := survey(&options)
	if err != nil {
		return nil, nil, err
	}
	p := &Pool{options: options, kick: make(chan struct{}, 1), used: make(map[int]bool), stuck: left}
	for _, r := range left {
		p.used[r.number] = true
	}
	for _, o := range orphans {
		p.used[o.steward.Number] = true
	}
	if options.PrivateShm {
		if p.hostMounts, err = privateshm.WatchMounts(); err != nil {
			return nil, nil, err
		}
	}
	return p, orphans, nil
}

// Warm returns the number of stewards that wait for a job.
func (p *Pool) Warm() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.warm)
}

// Claim returns a warm steward for a job of the user with this uid, or starts one if there is none.
// It never returns a steward that has had a job of another user, since its memory may still hold
// that job's environment or output. fresh asks for a steward that has had no job at all. From now
// on events are called. The error is ErrClosed, ErrHung, or why no steward starts.
func (p *Pool) Claim(ctx context.Context, user uint32, fresh bool, events client.Events) (*Steward, error) {
	for {
		s, err := p.take(ctx, user, fresh)
		if err != nil {
			return nil, err
		}
		if s.claim(user, events) == nil {
			return s, nil
		}
		p.discard(s)
	}
}

// take takes a warm steward out of the pool, or starts one.
func (p *Pool) take(ctx context.Context, user uint32, fresh bool) (*Steward, error) {
	s, number, err := p.takeWarm(user, fresh)
	switch {
	case err != nil:
		return nil, err
	case s != nil:
		p.wake()
		return s, nil
	}
	defer p.working.Done()
	return p.start(ctx, number)
}

// takeWarm takes a warm steward out of the pool. If there is none, it reserves a slot for another.
func (p *Pool) takeWarm(user uint32, fresh bool) (s *Steward, number int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, 0, ErrClosed
	}
	if err := p.checkHung(user); err != nil {
		return nil, 0, err
	}
	p.dropOutdated()
	i := p.choose(user, fresh)
	if i < 0 {
		return nil, p.reserve(), nil
	}
	s = p.warm[i]
	p.warm = slices.Delete(p.warm, i, i+1)
	return s, 0, nil
}

// choose returns the index of the warm steward for a user: the last one that has served the user,
// whose code is in the caches, else an unused one. The caller holds mu.
func (p *Pool) choose(user uint32, fresh bool) int {
	best := -1
	for i, s := range slices.Backward(p.warm) {
		switch {
		case s.user == nil && best < 0:
			best = i
		case s.user != nil && *s.user == user && !fresh:
			return i
		}
	}
	return best
}

// unclaimed counts the warm stewards of either kind. The caller holds mu.
func (p *Pool) unclaimed() (fresh, used int) {
	for _, s := range p.warm {
		if s.user == nil {
			fresh++
		}
	}
	return fresh, len(p.warm) - fresh
}

// reserve reserves the lowest free slot. The caller holds mu, and must call working.Done after the
// steward was started or failed to start.
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
	changes := p.countMountChanges()
	s, err := start(ctx, &p.options, number, p.wake)
	if err != nil {
		p.discard(s)
		return nil, fmt.Errorf("no steward for the job: %w", err)
	}
	s.mounts = changes
	return s, nil
}

func (p *Pool) free(number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, number)
}

// Launching delays the start of new stewards until the returned function is called.
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

// Retire takes a steward back after its job is over and forgotten. It waits for as long as reading
// reports that somebody reads the last output; otherwise it ends the steward after some seconds,
// and at once when ctx ends. The steward then waits for another job of its user, or exits, as it
// decides itself (steward/DESIGN.md).
func (p *Pool) Retire(ctx context.Context, s *Steward, reading func() bool) {
	next := s.leave(ctx, reading)
	if next == nil {
		p.discard(s)
		return
	}
	if surplus := p.putWarm(next); surplus != nil {
		p.discard(surplus)
	}
}

// putWarm adds a used steward to the warm ones. If there are too many it returns one to be removed,
// the least recently used.
func (p *Pool) putWarm(s *Steward) (surplus *Steward) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.outdated(s) {
		return s
	}
	p.warm = append(p.warm, s)
	if _, used := p.unclaimed(); used <= p.options.Warm*usedPerWarm {
		return nil
	}
	i := slices.IndexFunc(p.warm, func(s *Steward) bool { return s.user != nil })
	surplus = p.warm[i]
	p.warm = slices.Delete(p.warm, i, i+1)
	return surplus
}

// Close ends all stewards without a job, and waits for pending work. The error names the remains
// that could not be removed until ctx ended.
func (p *Pool) Close(ctx context.Context) error {
	warm := p.end()
	p.working.Wait()
	p.closeMounts()
	for _, s := range warm {
		p.discard(s)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(closeWait)
	}
	err := p.removeStuck(deadline)
	if p.options.Root != nil {
		err = errors.Join(err, p.options.Root.Remove(deadline))
	}
	return err
}

// end marks the pool as closed, and returns the warm stewards.
func (p *Pool) end() (warm []*Steward) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed, warm, p.warm = true, p.warm, nil
	return warm
}

func (p *Pool) wake() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}
