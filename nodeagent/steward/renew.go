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
	s.loop.setCrowded(false)
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
	s.relay.post(func() {
		s.relay.onRenewed = func(rested bool) {
			s.loop.post(func() { s.life.Renewed(s.now(), clean && rested) })
		}
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

// renew forgets a job's streams once all of them have ended, which they do at the latest with the
// job's processes. It reports whether nothing is left of them.
func (r *stdioRelay) renew() {
	if r.open > 0 || r.added > 0 && !r.allAdded || r.reader != nil && (!r.lastQueued || r.reader.unsent() > 0) {
		return // for now
	}
	r.closeFiles() // of streams that had none, and so closed none
	onRenewed, clean := r.onRenewed, !r.storeFailed && (r.files == nil || r.files.closed)
	r.onRenewed = nil
	r.detach()
	if clean {
		r.input.close()
		r.input = input{loop: r.loop}
		r.outputs, r.files = nil, nil
		r.added, r.allAdded, r.lastQueued, r.drained = 0, false, false, false
		r.kept, r.pace = unacked{}, pace{}
		r.affinity.reset()
	}
	onRenewed(clean)
}
