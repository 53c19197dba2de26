package switcher

import (
	"score/ctxswitch"
	"score/nodeagent/realtime"
)

// checkLimits reports jobs that have been on for as long as they may.
func (s *Switcher) checkLimits() {
	for _, j := range s.limited {
		if j.told {
			continue
		}
		now := realtime.Now()
		if s.usage(j, now).Ran >= j.TimeLimit {
			j.told = true
			s.notify(Notice{Kind: NoticeTimeUp, Job: j.ID})
		}
	}
}

// nextLimit is the instant at which the first job comes to its limit if it
// goes on running.
func (s *Switcher) nextLimit() int64 {
	at := ctxswitch.Never
	for _, j := range s.limited {
		now := realtime.Now()
		status, ok := s.machine.Job(j.ID, now)
		if ok && !j.told && status.Phase == ctxswitch.PhaseRunning {
			at = min(at, now+int64(j.TimeLimit-status.Ran))
		}
	}
	return at
}

func (s *Switcher) usage(j *job, now int64) Usage {
	status, ok := s.machine.Job(j.ID, now)
	if !ok {
		return Usage{}
	}
	return Usage{Ran: status.Ran, Slices: status.Slices, LateFreezes: status.LateFreezes, Switching: j.switching}
}
