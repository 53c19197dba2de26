package steward

import (
	"runtime/debug"
	"score/nodeagent/steward/stewardpb"
)

// renew resets the steward to its state before the job; if it cannot be sure of that, the steward
// leaves. No process of the job exists, no other goroutine uses the job, and the agent has all its
// messages.
func (s *steward) renew() {
	s.closePMIx()
	s.messages.close()
	s.clients.setCrowded(false)
	clean := s.leftClean()
	s.job.closeKeys()
	s.spares.close()
	s.perJob = perJob{}
	debug.SetMemoryLimit(memoryLimit)
	for _, p := range s.peers {
		if p != s.control { // it was for the job that is over
			s.drop(p)
		}
	}
	s.relay.Renew(func(rested bool) {
		s.loop.Post(func() { s.life.Renewed(s.now(), clean && rested) })
	})
}

// leftClean reports whether the job has left nothing in this process or in its control group that
// the next job could notice. Without a control group this is unknown: a descendant may have
// escaped.
func (s *steward) leftClean() bool {
	if s.stale || s.examining || s.group == nil || s.job.container != s.group || s.group.Killed() || s.forker.Changed() {
		return false
	}
	for k := range s.job.ranks {
		if r := &s.job.ranks[k]; r.pmi.fd >= 0 || r.stdin >= 0 {
			return false
		}
	}
	if oom, err := s.group.OOM(); err == nil && oom.Kills > 0 {
		return false // the count would be attributed to the next job
	}
	return true
}

// reportFree notifies the agent by a Status without a job.
func (s *steward) reportFree() {
	s.send(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_Status{Status: s.status()}})
}
