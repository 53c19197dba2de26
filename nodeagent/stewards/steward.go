package stewards

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"score/nodeagent/cgroup"
	"score/nodeagent/cgroup/procgroup"
	"score/nodeagent/steward/client"
	"score/nodeagent/steward/stewardpb"
)

// ErrGone means that a steward ended before it was given a job.
var ErrGone = errors.New("the steward ended before it had a job")

// Steward is one steward process, with the container for its job's ranks and
// the connection to it.
type Steward struct {
	*client.Conn
	// Number is its slot's.
	Number int
	// Container holds the ranks, once there are any.
	Container cgroup.Container

	group   *cgroup.Group // Container, or nil where signals are used
	process *client.Process

	// unused is called when it ends before it was claimed.
	unused func()

	mu     sync.Mutex
	events client.Events // of the claimant
	early  error         // why the connection ended before the claim
	ended  bool
}

// start makes a slot's group and steward, and connects to it.
func start(ctx context.Context, o *Options, number int, unused func()) (_ *Steward, err error) {
	s := &Steward{Number: number, unused: unused}
	defer func() {
		if err != nil {
			s.destroy(time.Now().Add(closeWait))
		}
	}()
	if o.Root != nil {
		if s.group, err = o.Root.Create(number); err != nil {
			return nil, err
		}
		s.Container = s.group
	}
	s.process, err = client.Start(client.Slot{
		Exe:     o.Exe,
		RunDir:  o.RunDir,
		Number:  number,
		Cluster: o.Cluster,
		Node:    o.Node,
		Cgroups: s.group != nil,
		Grace:   o.Grace,
		Stderr:  o.Stderr,
	})
	if err != nil {
		return nil, err
	}
	if s.group == nil {
		s.Container = procgroup.New(s.process.Pid)
	}
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	s.Conn, _, err = client.Dial(ctx, s.process.Socket, client.Events{Message: s.message, Closed: s.closed})
	if err != nil {
		return nil, fmt.Errorf("a new steward does not answer: %w", err)
	}
	return s, nil
}

// claim directs what the steward tells to its claimant.
func (s *Steward) claim(events client.Events) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return fmt.Errorf("%w: %w", ErrGone, s.early)
	}
	s.events = events
	return nil
}

func (s *Steward) message(m *stewardpb.FromSteward) {
	s.mu.Lock()
	tell := s.events.Message
	s.mu.Unlock()
	if tell != nil {
		tell(m)
	}
}

func (s *Steward) closed(err error) {
	s.mu.Lock()
	s.ended, s.early = true, err
	tell := s.events.Closed
	s.mu.Unlock()
	if tell == nil {
		s.unused()
		return
	}
	tell(err)
}

func (s *Steward) gone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// Socket is where connections for input and output are made.
func (s *Steward) Socket() string { return s.process.Socket }

// Pid is the process id of the steward.
func (s *Steward) Pid() int { return s.process.Pid }

// Exited is closed when the steward's process has ended.
func (s *Steward) Exited() <-chan struct{} { return s.process.Done() }

// KillProcess ends the steward itself by force, and with it the ranks.
func (s *Steward) KillProcess() { s.process.Kill() }

// Groups gives the directories that PrepareJob names, "" where there are none.
func (s *Steward) Groups() (group, memory string) {
	if s.group == nil {
		return "", ""
	}
	return s.group.Dir(), s.group.MemoryDir()
}

// LimitMemory bounds what the ranks may have together, in bytes. The error
// wraps cgroup.ErrNoMemoryControl where nothing can keep the limit.
func (s *Steward) LimitMemory(bytes uint64) error {
	if s.group == nil {
		return cgroup.ErrNoMemoryControl
	}
	return s.group.LimitMemory(int64(min(bytes, 1<<62)))
}

// leave has the steward exit by itself, for as long as that may take.
func (s *Steward) leave(ctx context.Context, reading func() bool) {
	patience := time.NewTicker(retireWait)
	defer patience.Stop()
	for waiting := s.Forget() == nil; waiting; {
		select {
		case <-s.process.Done():
			waiting = false
		case <-ctx.Done():
			waiting = false
		case <-patience.C:
			waiting = reading()
		}
	}
}

// destroy ends what there is of a steward, without asking it. What the error
// tells of is still there.
func (s *Steward) destroy(deadline time.Time) error {
	if s.process != nil {
		s.process.Kill()
	}
	if s.Conn != nil {
		s.Conn.Close()
	}
	if s.Container == nil {
		return nil
	}
	return s.Container.Close(deadline)
}
