package stewardpool

import (
	"context"
	"errors"
	"fmt"
	"score/nodeagent/cgroup"
	"score/nodeagent/cgroup/procgroup"
	"score/nodeagent/steward/client"
	"score/nodeagent/steward/stewardpb"
	"sync"
	"time"
)

// ErrGone means that a steward ended before it had a job.
var ErrGone = errors.New("the steward ended before it had a job")

// Steward is the use of a steward's process for one job, with the container for the job's ranks and
// the connection. After Retire its orders have no effect.
type Steward struct {
	*client.Conn
	*host
}

// host is a steward's process, which the Steward of each of its jobs shares.
type host struct {
	// Number is the number of its slot.
	Number int
	// Container holds the ranks.
	Container cgroup.Container

	group   *cgroup.Group // Container, nil if signals are used
	process *client.Process
	user    *uint32 // the user of its jobs; nil: it has had none
	// privateShm is set if its jobs have a /dev/shm of their own.
	privateShm bool
	mounts     int // the number of Pool.mountChanges when it was started
	// cpuBefore is the container's CPU time before the job.
	cpuBefore time.Duration
	memory    uint64 // the group's limit in bytes; 0: none
	processes uint32 // the group's limit; 0: none

	// onUnused is called if it ends before it is claimed.
	onUnused func()

	mu     sync.Mutex
	events client.Events // of the claimant
	early  error         // why the connection ended before the claim
	ended  bool
	lost   chan struct{} // closed with the connection
	renew  chan struct{} // closed when it has reported that it is free again
}

// start makes a slot's group and steward, and connects to it. After an error the caller must
// destroy s.
func start(ctx context.Context, o *Options, number int, onUnused func()) (s *Steward, err error) {
	s = &Steward{host: &host{Number: number, onUnused: onUnused, lost: make(chan struct{})}}
	if o.Root != nil {
		if s.group, err = o.Root.Create(number); err != nil {
			return s, err
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
		CPUs:    o.CPUs,
		Stderr:  o.Stderr,

		PrivateShm: o.PrivateShm,
		PrivateIPC: o.PrivateIPC,
	})
	if err != nil {
		return s, err
	}
	if s.group == nil {
		s.Container = procgroup.New(s.process.Pid)
	}
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	var status *stewardpb.Status
	s.Conn, status, err = client.Dial(ctx, s.process.Socket, client.Events{Message: s.onMessage, Closed: s.onClosed})
	if err != nil {
		return s, fmt.Errorf("a new steward does not answer: %w", err)
	}
	s.privateShm = status.GetPrivateShm()
	return s, nil
}

// claim directs the steward's messages to its claimant.
func (s *Steward) claim(user uint32, events client.Events) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return fmt.Errorf("%w: %w", ErrGone, s.early)
	}
	if s.process.Ended() {
		return ErrGone // the end of its connection was not reported yet
	}
	s.events, s.user = events, &user
	s.renew = make(chan struct{})
	return nil
}

func (s *host) onMessage(m *stewardpb.FromSteward) {
	if notify := s.claimantOf(m); notify != nil {
		notify(m)
	}
}

// claimantOf returns the function of the claimant that gets a message; nil: there is none.
func (s *host) claimantOf(m *stewardpb.FromSteward) func(*stewardpb.FromSteward) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.GetStatus() == nil || s.renew == nil {
		return s.events.Message
	}
	// The steward is free: later messages are not for this claimant.
	s.events = client.Events{}
	close(s.renew)
	s.renew = nil
	return nil
}

func (s *host) onClosed(err error) {
	s.mu.Lock()
	if !s.ended {
		close(s.lost)
	}
	s.ended, s.early = true, err
	notify := s.events.Closed
	s.mu.Unlock()
	if notify == nil {
		s.onUnused()
		return
	}
	notify(err)
}

func (s *host) gone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// Socket returns the path of the socket for input and output.
func (s *host) Socket() string { return s.process.Socket }

// Pid returns the process id of the steward.
func (s *host) Pid() int { return s.process.Pid }

// PrivateShm reports whether the jobs have a /dev/shm of their own.
func (s *host) PrivateShm() bool { return s.privateShm }

// Exited returns a channel that is closed when the steward's process has ended.
func (s *host) Exited() <-chan struct{} { return s.process.Done() }

// KillProcess kills the steward itself, and with it the ranks.
func (s *host) KillProcess() { s.process.Kill() }

// Groups returns the directories of the control group and the v1 memory group for PrepareJob, "" if
// there are none.
func (s *host) Groups() (group, memory string) {
	if s.group == nil {
		return "", ""
	}
	return s.group.Dir(), s.group.MemoryDir()
}

// CPUTime returns the CPU time that the job has used so far, including ended processes.
func (s *host) CPUTime() (time.Duration, error) {
	used, err := s.Container.CPUTime()
	return used - s.cpuBefore, err
}

// LimitMemory bounds the memory of all ranks together, in bytes; 0: no limit. The error wraps
// cgroup.ErrNoMemoryControl if no controller can enforce the limit.
func (s *host) LimitMemory(bytes uint64) error {
	if bytes == s.memory {
		return nil // an earlier job had the same
	}
	if s.group == nil {
		return cgroup.ErrNoMemoryControl
	}
	s.memory = bytes
	if bytes == 0 {
		return s.group.UnlimitMemory()
	}
	return s.group.LimitMemory(int64(min(bytes, 1<<62)))
}

// LimitProcesses bounds the job's processes and threads; 0: no limit. The error wraps
// cgroup.ErrNoPidsControl if no controller can enforce the limit.
func (s *host) LimitProcesses(maxProcesses uint32) error {
	if maxProcesses == s.processes {
		return nil // an earlier job had the same
	}
	if s.group == nil {
		return cgroup.ErrNoPidsControl
	}
	s.processes = maxProcesses
	return s.group.LimitProcesses(maxProcesses)
}

// leave lets the steward become free again or exit by itself, for a bounded time. It returns the
// steward for the next job, or nil.
func (s *Steward) leave(ctx context.Context, reading func() bool) *Steward {
	s.mu.Lock()
	renewed, lost := s.renew, s.lost
	s.mu.Unlock()
	if renewed == nil || s.Recycle() != nil {
		return nil
	}
	timeout := time.NewTicker(retireWait)
	defer timeout.Stop()
	for {
		select {
		case <-renewed:
			return s.next()
		case <-s.process.Done():
			return nil
		case <-lost: // it exits, or hangs in its exit
			if !reading() {
				return nil
			}
			lost = nil
		case <-ctx.Done():
			return nil
		case <-timeout.C:
			if !reading() {
				return nil
			}
		}
	}
}

// next returns the same process for another job of the same user, or nil if its control group
// prevents that.
func (s *Steward) next() *Steward {
	// A job that ended while it was stopped has left its group frozen.
	if s.gone() || s.group == nil || s.group.Killed() || s.group.Thaw() != nil {
		return nil
	}
	var err error
	if s.cpuBefore, err = s.group.CPUTime(); err != nil {
		return nil
	}
	used, err := s.group.MemoryUsed()
	if err == nil && used > maxCharged {
		return nil // too many pages of its files are still charged to the group
	}
	if err != nil && !errors.Is(err, cgroup.ErrNoMemoryControl) {
		return nil
	}
	return &Steward{Conn: s.Next(), host: s.host}
}

// Leave disconnects from a steward, which continues its job and waits for another agent. It removes
// the slot of one that has died, since no other agent may come.
func (s *Steward) Leave() {
	if s.process.Ended() {
		_ = s.destroy(time.Now().Add(closeWait)) // what stays, another agent removes
		return
	}
	s.Close()
	if s.group != nil {
		s.group.Release()
	}
}

// destroy kills and removes everything of a steward. The error names the remains.
func (s *Steward) destroy(deadline time.Time) error {
	if s.process != nil {
		s.process.Kill()
	}
	if s.Conn != nil {
		s.Close()
	}
	if s.Container == nil {
		return nil
	}
	return s.Container.Close(deadline)
}
