package pmix

import (
	"fmt"
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/message"
	"slices"
	"time"
)

// keptEnds is how many ends of spawned jobs are remembered, since each may be reported twice. It is
// more than a leader keeps to repeat.
const keptEnds = 128

// JobEnded notifies registered ranks, once, that a job that this one has spawned has ended with an
// exit code. Like PRRTE it does not notify default handlers. Ranks no longer wait for its
// processes.
func (s *Server) JobEnded(now time.Time, job uint64, code int) []Effect {
	if slices.Contains(s.jobsEnded, job) {
		return nil
	}
	if len(s.jobsEnded) == keptEnds {
		s.jobsEnded = slices.Delete(s.jobsEnded, 0, 1)
	}
	s.jobsEnded = append(s.jobsEnded, job)
	status := message.Success
	if code != 0 {
		status = message.ErrJobExit
	}
	name := s.config.NameOf(job)
	infos := []bfrops.Info{
		{Key: message.KeyNotDefault, Value: bfrops.NewBool(true)},
		{Key: message.KeyTermStatus, Value: bfrops.NewNumber(bfrops.Status, uint64(int64(status)))},
		{Key: message.KeyAffected, Value: bfrops.NewProc(bfrops.Proc{Namespace: name, Rank: bfrops.Wildcard})},
		{Key: message.KeyExitCode, Value: bfrops.NewNumber(bfrops.Int, uint64(int64(code)))},
		{Key: message.KeyEventText, Value: bfrops.NewString(fmt.Sprintf("%s left with exit code %d", name, code))},
	}
	return s.Do(now, func(e *pmi.Engine) error {
		s.closePort(e, name)
		e.Notify(pmi.Notice{Job: job, Code: message.JobEnded, Range: message.RangeSession, Infos: packInfos(infos)}, pmi.ReachNode)
		return nil
	})
}
