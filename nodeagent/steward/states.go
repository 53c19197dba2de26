package steward

import (
	"score/nodeagent/steward/life"
	"score/scored/api/scorev1"

	"golang.org/x/sys/unix"
)

// rankStates describes each local rank for people.
func (s *steward) rankStates() []*scorev1.RankState {
	if s.job == nil {
		return nil
	}
	// With a deadline in the past WaitFrozen checks and does not wait.
	frozen := s.life.Phase() == life.Running && s.job.container.WaitFrozen(s.now()) == nil
	states := make([]*scorev1.RankState, len(s.job.ranks))
	for k := range states {
		states[k] = s.rankState(k, frozen)
	}
	return states
}

func (s *steward) rankState(k int, frozen bool) *scorev1.RankState {
	r := &s.job.ranks[k]
	state := &scorev1.RankState{Rank: r.rank, Node: s.job.node, Pid: r.pid()}
	alive, exit := s.life.Rank(k)
	switch {
	case alive == life.Unborn:
		state.State = "prepared"
	case alive == life.Alive && frozen:
		state.State = "frozen"
	case alive == life.Alive:
		state.State = "running"
	case exit.ByUs:
		state.State = "killed"
	default:
		state.State = "exited"
	}
	if alive == life.Alive {
		state.CpuNanos = processCPUNanos(r.pid())
	}
	if r.exited != nil {
		state.ExitCode, state.Signal, state.CpuNanos = r.exited.GetExitCode(), r.exited.GetSignal(), r.exited.GetCpuNanos()
	}
	return state
}

// processCPUNanos reads the CPU clock of a process, 0 if it has just ended. The
// clock's number is made from the process id as clock_getcpuclockid(3) does.
func processCPUNanos(pid int32) int64 {
	const cpuclockSched = 2
	var ts unix.Timespec
	if pid <= 0 || unix.ClockGettime(^pid<<3|cpuclockSched, &ts) != nil {
		return 0
	}
	return ts.Nano()
}
