package switcher

import (
	"score/ctxswitch"
	"score/nodeagent/realtime"
	"time"
)

// networkMargin is how long before a step's deadline the network must answer, at most half of the
// time that is left: a multiple of the time that an answer takes to reach the thread on a busy
// machine.
const networkMargin = 200 * time.Microsecond

// Network removes a job's contexts from their channels and restores them.
type Network interface {
	// Order begins a step, one of Revoke, Flush, Save and Load. It is called on the switching
	// thread: it must not allocate, nor wait for longer than processes take to release their
	// contexts. If the step is over at once, it returns the outcome. Otherwise Stepped reports its
	// end, with the same number, before the instant by of CLOCK_MONOTONIC.
	Order(step ctxswitch.Step, number uint64, by int64) (flushes Flushes, over bool)
	// Contexts returns the largest number of channels of the node that the job's contexts take.
	Contexts() int
	// Pause reports that the job's processes were ordered to stop, Resume that they run again,
	// whether or not the contexts left their channels. Neither waits.
	Pause()
	Resume()
}

// Flushes counts contexts that left their channels, by outcome.
type Flushes struct {
	Clean  uint64 // every message was answered
	CutOff uint64 // some messages were unanswered; lost ones are sent again later
	Held   uint64 // it did not leave, since its process was stopped while it held the driver lock
}

func (f *Flushes) add(more Flushes) {
	f.Clean, f.CutOff, f.Held = f.Clean+more.Clean, f.CutOff+more.CutOff, f.Held+more.Held
}

// Connected reports that the job has contexts, which take part in its switches from now on.
func (s *Switcher) Connected(id ctxswitch.JobID, network Network) {
	s.post(&command{event: ctxswitch.JobConnected(id, network.Contexts()), network: network})
}

// Stepped reports the end and the outcome of a step that Network.Order began.
func (s *Switcher) Stepped(id ctxswitch.JobID, step ctxswitch.Step, number uint64, flushes Flushes) {
	done := ctxswitch.Done(ctxswitch.Effect{Step: step, Job: id, Seq: number})
	s.post(&command{event: done, flushes: flushes})
}

// orderNetwork orders a step of the network. For a job without contexts it is over at once.
func (s *Switcher) orderNetwork(j *job, effect ctxswitch.Effect) {
	if j.network != nil {
		margin := min(networkMargin.Nanoseconds(), (effect.By-realtime.Now())/2)
		flushes, over := j.network.Order(effect.Step, effect.Seq, effect.By-margin)
		if !over {
			return
		}
		s.countFlushes(j.ID, flushes)
	}
	s.order(realtime.Now(), ctxswitch.Done(effect))
}

// countFlushes counts the outcome of a step.
func (s *Switcher) countFlushes(id ctxswitch.JobID, flushes Flushes) {
	if j := s.jobs[id]; j != nil && flushes != (Flushes{}) {
		j.flushes.add(flushes)
		s.flushes.add(flushes)
		j.dirty = true
	}
}
