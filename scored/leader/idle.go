package leader

import (
	"cmp"
	"fmt"
	"score/gang"
	"score/scored/api/agentpb"
	"score/scored/api/quote"
	"score/scored/api/scorev1"
	"score/scored/idle"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
)

const (
	// requestBits is the number of bits for a question's number within a leader's term. The other
	// bits hold the term, so that this leader ignores answers to an earlier one.
	requestBits = 32
	// maxRanksListed bounds the ranks in a sentence about a deadlock: a screen full.
	maxRanksListed = 16
	// maxWaitsKept bounds the waits that are kept for a node; there is one for each channel of its
	// ranks.
	maxWaitsKept = 4096
)

// idleness is the state of a job whose ranks sleep.
type idleness struct {
	gang     *idle.Gang
	shown    idle.State // as last reported to the matrix and to users
	deadline int64      // of gang, for its timer
	dead     int64      // when it was found deadlocked
	reported bool       // its deadlock was reported
}

// onCut handles a node's report on a job's ranks.
func (c *controller) onCut(n *node, m *agentpb.Cut) {
	j, p := c.partOf(n, m.GetJobId())
	if p == nil || j.state != running || p.done || j.idle == nil && !m.GetAsleep() {
		return
	}
	if j.idle == nil {
		j.idle = &idleness{gang: idle.New(j.namesOf(func(p *part) bool { return !p.done }))}
	}
	if p.cut != nil && !m.GetExamined() {
		m.Waits = p.cut.GetWaits()
	}
	if m.GetExamined() {
		m.Waits = m.GetWaits()[:min(len(m.GetWaits()), maxWaitsKept)]
		for _, w := range m.GetWaits() {
			w.Node = n.name
		}
	}
	p.cut = m
	cut := idle.Cut{Asleep: m.GetAsleep(), Epoch: m.GetEpoch(), Examined: m.GetExamined(), WakeSource: clip(m.GetWakeSource())}
	if m.GetRequest()>>requestBits == c.term&(1<<requestBits-1) {
		cut.Request = m.GetRequest() & (1<<requestBits - 1)
	}
	c.settleIdle(j, j.idle.gang.OnCut(n.name, cut, c.now))
}

// onCutLost drops a node's reports on all jobs: its stream has ended.
func (c *controller) onCutLost(n *node) {
	for _, j := range c.sortedJobs() {
		if p := j.part(n.name); p != nil && j.idle != nil {
			p.cut = nil
			j.idle.gang.OnNodeLost(n.name)
			c.settleIdle(j, idle.Question{})
		}
	}
}

// onCutEnd records that nothing of the job runs on the node any more.
func (c *controller) onCutEnd(j *job, p *part) {
	if j.idle != nil {
		c.settleIdle(j, j.idle.gang.OnNodeEnded(p.Node, c.now))
	}
}

// onIdleDeadline handles the deadline of a job's idleness.
func (c *controller) onIdleDeadline(j *job) {
	alone := j.parents == 0 && len(j.children) == 0
	c.settleIdle(j, j.idle.gang.Tick(c.now, alone))
}

// settleIdle sends the question, and acts on the gang's present state.
func (c *controller) settleIdle(j *job, q idle.Question) {
	if q.Request != 0 {
		c.askCut(j, q)
	}
	c.awaitIdle(j)
	state := j.idle.gang.State()
	if state == idle.Doubtful {
		state = idle.Awake
	}
	was := j.idle.shown
	j.idle.shown = state
	if asleep := state != idle.Awake; asleep != (was != idle.Awake) {
		c.gang.SetAsleep(gang.JobID(j.id), asleep)
		c.planDirty = true
	}
	if state == idle.Deadlocked && was != state {
		c.onDeadlock(j)
	}
}

func (c *controller) askCut(j *job, q idle.Question) {
	for _, name := range j.idle.gang.Nodes() {
		if n := c.nodes[name]; n != nil {
			c.send(n.link, &agentpb.ServerMessage{Message: &agentpb.ServerMessage_AskCut{AskCut: &agentpb.AskCut{
				Request: c.term<<requestBits | q.Request, JobId: j.id, Examine: q.Examine,
			}}})
		}
	}
}

func (c *controller) awaitIdle(j *job) {
	if at := j.idle.gang.Deadline(); at != j.idle.deadline {
		j.idle.deadline = at
		if at != 0 {
			c.timers.add(timer{at: at, kind: timerIdle, id: j.id})
		}
	}
}

// forgetIdle stops watching a job that is being ended, so that its slices are not given away any
// more.
func (c *controller) forgetIdle(j *job) {
	if j.idle != nil {
		j.idle = nil
		c.gang.SetAsleep(gang.JobID(j.id), false)
	}
}

// onDeadlock reports once that nothing can wake the job, and ends it if it was submitted so.
func (c *controller) onDeadlock(j *job) {
	j.idle.dead = c.now
	c.log("job deadlocked", zap.Uint64("job", j.id), zap.String("user", j.user.GetUser()))
	kill := j.spec.GetKillOnDeadlock()
	if !j.idle.reported {
		j.idle.reported = true
		advice := fmt.Sprintf("; end it with 'scored job cancel %d' (--kill-on-deadlock does that by itself)", j.id)
		if kill {
			advice = ""
		}
		c.warn(j, fmt.Sprintf("job %d is deadlocked: %s, none is on its way, and nothing outside can wake them%s%s",
			j.id, sleepers(j), advice, c.sleepLines(j)))
	}
	if kill {
		c.step(j, evStop{verdict(deadlock, exitDeadlock, "job %d was deadlocked; it was ended since it was submitted with --kill-on-deadlock", j.id)})
	}
}

// sleepers returns the number of ranks and what they wait for.
func sleepers(j *job) string {
	ranks := uint32(0)
	for _, p := range j.parts {
		if !p.done {
			ranks += p.cut.GetRanks()
		}
	}
	if ranks == 1 {
		return "its only rank left waits for messages"
	}
	return fmt.Sprintf("all its %d ranks wait for messages", ranks)
}

// sleepLines returns a line for each rank and channel, as many as fit on a screen.
func (c *controller) sleepLines(j *job) string {
	var lines strings.Builder
	waits := waitsOf(j)
	for i, w := range waits {
		if i == maxRanksListed {
			fmt.Fprintf(&lines, "\n  and %d more, see 'scored job show %d'", len(waits)-i, j.id)
			break
		}
		fmt.Fprintf(&lines, "\n  rank %d on %s waits for %s on channel %d for %v: %d sent, %d received", w.GetRank(), w.GetNode(),
			quote.Text(w.GetWait()), w.GetChannel(), time.Duration(c.now-w.GetSinceNanos()).Round(time.Second/10), w.GetSent(), w.GetReceived())
	}
	return lines.String()
}

// waitsOf returns what the ranks wait for, by rank and channel.
func waitsOf(j *job) (all []*scorev1.RankWait) {
	for _, p := range j.parts {
		if p.done {
			continue
		}
		all = append(all, p.cut.GetWaits()...)
	}
	slices.SortFunc(all, func(x, y *scorev1.RankWait) int {
		return cmp.Or(cmp.Compare(x.GetRank(), y.GetRank()), cmp.Compare(x.GetChannel(), y.GetChannel()))
	})
	return all
}

// idleView returns what users see of a sleeping job; nil: it does not sleep.
func (c *controller) idleView(j *job) *scorev1.Idleness {
	if j.idle == nil || j.idle.shown == idle.Awake {
		return nil
	}
	view := &scorev1.Idleness{SinceNanos: j.idle.gang.Since(), WakeSource: j.idle.gang.WakeSource()}
	if j.idle.shown == idle.Deadlocked {
		view.DeadlockedNanos = j.idle.dead
	}
	for _, p := range j.parts {
		view.Sent += p.cut.GetSent()
		view.Received += p.cut.GetReceived()
		view.Refused += p.cut.GetRefused()
	}
	return view
}
