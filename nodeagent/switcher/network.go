package switcher

import (
	"score/ctxswitch"
	"score/nodeagent/realtime"
	"time"
)

// networkMargin is how long before a step's deadline the network must answer, but at most half of
// the time: a multiple of the time that an answer takes to reach the thread on a busy machine.
const networkMargin = 200 * time.Microsecond

// Network takes a job's contexts from their channels and brings them back.
type Network interface {
	// Order begins a step, one of Revoke, Flush, Save and Load. It is called by the switching
	// thread: it must not allocate, nor wait for longer than processes take to let go of their
	// contexts. If the step is over at once, it returns the outcome. Else Stepped reports its end,
	// with the same number, by the instant by of CLOCK_MONOTONIC.
	Order(step ctxswitch.Step, number uint64, by int64) (flushes Flushes, over bool)
	// Contexts is how many channels of the node they take at most.
	Contexts() int
	// Pause reports that the job's processes were ordered to stand still, Resume that they run
	// again, whether or not its contexts left their channels. Neither waits.
	Pause()
	Resume()
}

// Flushes count contexts that left their channels.
type Flushes struct {
	Clean  uint64 // with all that they had sent answered
	CutOff uint64 // with something unanswered, which is sent again later if it was lost
	Held   uint64 // not at all, since the process was stopped with the driver lock in hand
}

func (f *Flushes) add(more Flushes) {
	f.Clean, f.CutOff, f.Held = f.Clean+more.Clean, f.CutOff+more.CutOff, f.Held+more.Held
}

// Connected reports that the job's contexts have part in its switches from now on.
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
