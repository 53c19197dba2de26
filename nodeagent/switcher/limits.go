package switcher

import (
	"score/ctxswitch"
	"score/nodeagent/realtime"
	"time"
)

// checkLimits gives notice of jobs that have reached their TimeLimit or NearLimit.
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

// noLimit is the next limit of a job without further limits.
const noLimit time.Duration = -1

// nextLimit returns the time on at which the job's next notice is due.
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

// nextLimit returns the instant at which the first job reaches its next limit if it stays on.
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
