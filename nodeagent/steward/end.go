package steward

import (
	"errors"
	"fmt"
	"score/nodeagent/cgroup"
	"score/nodeagent/launch"
	"score/nodeagent/realtime"
	"score/nodeagent/steward/life"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killWait bounds one attempt to end all processes. The kernel needs microseconds, unless a
	// device keeps a process waiting.
	killWait = 2 * time.Second
	// sweepPause is the time between two attempts.
	sweepPause = 500 * time.Millisecond
	// storeWait is how long the end of a detached job waits for its output files once its processes
	// are gone. The rest of the pipes is written in milliseconds; a network file system that hangs
	// must not hold the job's CPUs.
	storeWait = 10 * time.Second
)

// onExit handles the end of a process. What was posted before the process was forked, such as its
// PMI connection, comes first: the event of the wake-up precedes this one.
func (s *steward) onExit(pid int) {
	if exit, ended := s.reaper.Reap(pid); ended {
		s.onRankExited(exit)
	}
}

func (s *steward) onRankExited(e launch.Exit) {
	k, at := e.ID, realtime.Now() // others are notified below, and may kill it
	r := &s.job.ranks[k]
	if state, _ := s.life.Rank(k); state == life.Unborn {
		s.life.Started(s.now(), k) // it ended before the rest of its batch was forked
	}
	s.onRespawned(k) // or before its respawn was noted
	if s.job.pmi != nil {
		s.drainPMI(k)
	}
	if s.job.pmix != nil {
		s.rankEndedPMIx(k, e.Status)
	}
	r.exited = &agentpb.RankExited{
		JobId:       s.job.id,
		Rank:        r.rank,
		ExitCode:    int32(e.Status.Code),
		Signal:      int32(e.Status.Signal),
		CoreDumped:  e.Status.CoreDumped,
		AtNanos:     at,
		CpuNanos:    int64(e.Usage.CPU()),
		MaxRssBytes: e.Usage.MaxRSS,
	}
	s.life.Exited(s.now(), k, life.Exit{
		Code:        e.Status.Code,
		Signal:      int(e.Status.Signal),
		CoreDumped:  e.Status.CoreDumped,
		OutOfMemory: s.outOfMemory(e.Status),
	})
}

// shellKilled is the exit code of a shell whose command was killed by SIGKILL.
const shellKilled = 128 + int(unix.SIGKILL)

// outOfMemory reports whether the kernel killed a rank because of the job's memory limit, or a
// child of a rank that is a shell and reports the kill. After a kill by this steward the cause is
// unknown and does not matter.
func (s *steward) outOfMemory(status launch.ExitStatus) bool {
	killed := status.Signal == unix.SIGKILL || status.Code == shellKilled
	if !killed || s.group == nil || s.life.Killed() {
		return false
	}
	oom, err := s.group.OOM()
	return err == nil && oom.Kills > 0
}

func (s *steward) reportExit(k int) {
	_, exit := s.life.Rank(k)
	r := &s.job.ranks[k]
	m := r.exited
	m.BeforeFinalize, m.ByUs, m.OutOfMemory, m.Survived = exit.BeforeFinalize, exit.ByUs, exit.OutOfMemory, exit.Survived
	m.CpuNanos, m.MaxRssBytes = m.GetCpuNanos()+r.spent, max(m.GetMaxRssBytes(), r.resident)
	message := &stewardpb.FromSteward{Message: &stewardpb.FromSteward_RankExited{RankExited: m}}
	if isClean(m) {
		s.sendLater(message)
		return
	}
	s.send(message)
}

// isClean reports whether a rank's end has no consequence for the other ranks.
func isClean(m *agentpb.RankExited) bool {
	return m.GetExitCode() == 0 && m.GetSignal() == 0 && !m.GetBeforeFinalize() && !m.GetByUs()
}

// abort ends the job because of local rank k, or of none in particular (-1).
func (s *steward) abort(k, exitCode int, message string) {
	s.life.Abort(s.now(), life.Abort{Rank: k, ExitCode: exitCode, Message: message})
}

func (s *steward) reportAbort(a life.Abort) {
	m := &agentpb.Abort{JobId: s.job.id, Rank: -1, ExitCode: int32(a.ExitCode), Message: a.Message}
	if a.Lapsed {
		lease := time.Duration(s.job.order.GetJob().GetLeaseNanos())
		m.Lapsed, m.ExitCode = true, launch.CodeCluster
		m.Message = fmt.Sprintf("node %s heard no leader for %v", s.job.node, lease)
	}
	if a.Rank >= 0 {
		m.Rank, m.AtNanos = int32(s.job.ranks[a.Rank].rank), realtime.Now()
	}
	s.outbox.abort = m
	s.send(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_Abort{Abort: m}})
}

// setLease lets the ranks live until an instant of CLOCK_MONOTONIC.
func (s *steward) setLease(until int64) {
	now := s.now()
	s.life.Lease(now, now.Add(time.Duration(until-realtime.Now())))
}

// kill ends the ranks and their descendants, and stops forking.
func (s *steward) kill() {
	s.stopForking.Store(true)
	container := s.job.container
	s.help(func() {
		// The sweep ends what is left at the deadline.
		_ = container.Kill(time.Now().Add(killWait))
	})
}

// sweep ends the processes that the ranks have left behind, for as long as it takes: a job with a
// process is not over. If the kernel holds a process, sweep sends the user a note. A job with
// output files is not over before these are complete, since whoever waits for its end reads them
// next.
func (s *steward) sweep() {
	s.acknowledge()
	j, container, last, stored := s.job, s.job.container, s.life.Killed(), s.job.stored
	s.help(func() {
		for noted := false; ; noted = true {
			err := container.Kill(time.Now().Add(killWait))
			if err == nil {
				break
			}
			if !noted {
				s.loop.Post(func() { s.noteStuck(err) })
			}
			time.Sleep(sweepPause)
		}
		j.removeLeftovers()
		s.renewShm(j.uid() == 0)
		if last { // of this steward's jobs
			s.forker.Close() // its thread leaves the memory group, which can then be removed
		}
		if !awaitFiles(stored) {
			s.loop.Post(func() { s.noteLoss("output files may lack their end: they could not be completed in time") })
		}
		s.loop.Post(s.onSwept)
	})
}

// awaitFiles waits for the files of a detached job and reports whether they are complete.
func awaitFiles(stored <-chan struct{}) bool {
	if stored == nil {
		return true
	}
	select {
	case <-stored:
		return true
	case <-time.After(storeWait):
		return false
	}
}

func (s *steward) noteStuck(err error) {
	if errors.Is(err, cgroup.ErrNotEmpty) {
		s.note(fmt.Sprintf("node %s: processes of the job do not end, a device, file system or debugger may hold them: %v", s.job.node, err))
		return
	}
	s.note(fmt.Sprintf("node %s: the processes of the job cannot be ended: %v", s.job.node, err))
}

func (s *steward) reportDone() {
	if s.launchedAt == 0 { // never started: a reader may wait for output already
		s.relay.Complete()
	}
	s.notifyFences()
	s.outbox.done = &agentpb.NodeDone{JobId: s.job.id, Usage: s.usage(), Start: s.phases.message()}
	s.send(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_NodeDone{NodeDone: s.outbox.done}})
}

// usage sums up the resources that the ranks have used. The container also counts descendants that
// no rank has waited for.
func (s *steward) usage() *scorev1.Usage {
	u := &scorev1.Usage{}
	for k := range s.job.ranks {
		if m := s.job.ranks[k].exited; m != nil {
			u.CpuNanos += m.GetCpuNanos()
			u.MaxRssBytes = max(u.MaxRssBytes, m.GetMaxRssBytes())
		}
	}
	// The preparation may still use a job that was never started.
	if s.launchedAt == 0 || s.group == nil || s.job.container != cgroup.Container(s.group) {
		return u
	}
	if cpu, err := s.group.CPUTime(); err == nil {
		u.CpuNanos = max(u.CpuNanos, int64(cpu-s.job.cpuBefore))
	}
	return u
}

// signal sends a signal to every living rank's process group. Until all ranks are forked it keeps
// the signal, each number once, as the kernel keeps pending signals.
func (s *steward) signal(sig unix.Signal) {
	if s.job == nil || sig < 1 || sig > api.MaxSignal {
		return
	}
	switch s.life.Phase() {
	case life.Preparing, life.Ready, life.Starting:
		s.pending |= bitOf(sig)
		return
	case life.Free, life.Running, life.Sweeping, life.Over, life.Renewing, life.Gone:
	}
	for k := range s.job.ranks {
		if p := s.job.ranks[k].process; p != nil {
			_ = p.SignalGroup(sig) // it fails only for a rank that has just ended
		}
	}
}

// signalPending sends the signals that came before all ranks were forked.
func (s *steward) signalPending() {
	for sig := unix.Signal(1); s.pending != 0 && sig <= api.MaxSignal; sig++ {
		if s.pending&bitOf(sig) != 0 {
			s.signal(sig)
		}
	}
	s.pending = 0
}

// bitOf returns a signal's bit in the set of pending ones.
func bitOf(sig unix.Signal) uint64 { return 1 << (sig - 1) }
