package switcher

import (
	"score/ctxswitch"
	"score/nodeagent/realtime"
	"time"
)

// checkLimits reports jobs that have been on for as long as they may, or nearly.
func (s *Switcher) checkLimits() {
	for _, j := range s.limited {
		at, kind := j.nextLimit()
		if at == noLimit || s.usage(j, realtime.Now()).Ran < at {
			continue
		}
		j.endNoticed, j.nearNoticed = kind == NoticeTimeUp, true
		s.notify(Notice{Kind: kind, Job: j.ID})
	}
}

// noLimit is that of a job of whose limits none is left.
const noLimit time.Duration = -1

// nextLimit returns for how long the job must have been on for its next notice.
func (j *job) nextLimit() (time.Duration, NoticeKind) {
	switch {
	case j.endNoticed:
		return noLimit, 0
	case j.NearLimit > 0 && !j.nearNoticed:
		return j.NearLimit, NoticeTimeNear
	default:
		return j.TimeLimit, NoticeTimeUp
	}
}

// nextLimit is the instant at which the first job comes to its limit if it
// goes on running.
func (s *Switcher) nextLimit() int64 {
	at := ctxswitch.Never
	for _, j := range s.limited {
		now := realtime.Now()
		status, ok := s.machine.Job(j.ID, now)
		limit, _ := j.nextLimit()
		if ok && limit != noLimit && status.Phase == ctxswitch.PhaseRunning {
			at = min(at, now+int64(limit-status.Ran))
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
