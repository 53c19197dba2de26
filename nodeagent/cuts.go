package nodeagent

import (
	"context"
	"sync/atomic"
	"time"

	"score/channels/abi"
	"score/channels/node"
	"score/nodeagent/dataplane"
	"score/nodeagent/quiescence"
	"score/nodeagent/realtime"
	"score/nodeagent/stewardpool"
	"score/nodeagent/switcher"
	"score/nodeagent/wakesource"
	"score/scored/api/scorev1"
)

// How often is looked whether the ranks of a job sleep. A look is a few loads for each channel, and
// one read of what the job's processes have used: some 10 us.
const (
	// lookEvery is for gangs that take their turns.
	lookEvery = 100 * time.Millisecond
	// lookAsleep is for gangs that have given their turn away: one that wakes runs beside another
	// gang until this is noticed, and the plan has changed.
	lookAsleep = 20 * time.Millisecond
	// lookForJobs is for nodes on which no program has opened a channel: they are looked at no more
	// than the switching thread is asked for its report.
	lookForJobs = time.Second
	// lookTwice is the pause before a rank that seems to be awake is looked at again: one that
	// sleeps wakes once a second for a moment to look around.
	lookTwice = time.Millisecond
	// cutsAsked bounds questions of the leader that wait: one for each job that may be idle. One
	// that finds no room is asked again.
	cutsAsked = 64
)

// cuts watches which jobs sleep, and tells the leader. One goroutine runs it; the methods that
// others call say so.
type cuts struct {
	agent  *Agent
	asked  chan *scorev1.AskCut
	asleep atomic.Pointer[map[uint64]bool] // jobs without a turn, by the newest plan
	again  atomic.Bool                     // the leader is to be told all that sleeps
	jobs   map[*job]*sleeper
}

// sleeper is what is known of a job with channels.
type sleeper struct {
	watch quiescence.Watch
	cut   node.Cut
	on    time.Duration // how long its gang had been on at the last look
	// watched says that what its processes use is cheap to ask for: they are in a control group.
	watched bool
}

func newCuts(a *Agent) *cuts {
	c := &cuts{agent: a, asked: make(chan *scorev1.AskCut, cutsAsked), jobs: make(map[*job]*sleeper)}
	c.asleep.Store(&map[uint64]bool{})
	return c
}

// ask takes a question of the leader; it does not wait. Any goroutine may call it.
func (c *cuts) ask(question *scorev1.AskCut) {
	select {
	case c.asked <- question:
	default:
	}
}

// planned takes from a plan which jobs have no turn. Any goroutine may call it.
func (c *cuts) planned(plan *scorev1.Plan) {
	asleep := make(map[uint64]bool, len(plan.GetAsleep()))
	for _, id := range plan.GetAsleep() {
		asleep[id] = true
	}
	c.asleep.Store(&asleep)
}

// tellAgain has the leader told all that sleeps. Any goroutine may call it.
func (c *cuts) tellAgain() { c.again.Store(true) }

func (c *cuts) run(ctx context.Context) {
	timer := time.NewTimer(lookForJobs)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case question := <-c.asked:
			c.answer(question)
			continue
		case <-timer.C:
			timer.Reset(c.lookAll())
		}
	}
}

// lookAll looks at all jobs with channels, and says when to look again.
func (c *cuts) lookAll() (next time.Duration) {
	if c.agent.plane.Contexts() == 0 || !c.agent.connected.Load() {
		clear(c.jobs)
		return lookForJobs
	}
	again, next := c.again.Swap(false), lookEvery
	for j := range c.jobs {
		if j.isOver() {
			delete(c.jobs, j)
		}
	}
	for _, j := range c.agent.jobs.all() {
		s := c.look(j)
		if s == nil {
			continue
		}
		if again && s.watch.Asleep() {
			j.tellCut(s, nil)
		}
		if s.watched && (*c.asleep.Load())[j.id] {
			next = lookAsleep
		}
	}
	return next
}

// look looks at a job, and tells the leader if it has fallen asleep or woken; nil: it has no ranks
// with channels.
func (c *cuts) look(j *job) *sleeper {
	s := c.jobs[j]
	if s == nil {
		s = &sleeper{}
	}
	sample, ok := s.sample(j)
	if sample.Ranks == 0 && c.jobs[j] == nil {
		return nil
	}
	c.jobs[j] = s
	if ok && s.watch.Update(sample) {
		j.tellCut(s, nil)
	}
	return s
}

// sample is false if there is nothing new: a gang that was not on since the last look has done
// nothing.
func (s *sleeper) sample(j *job) (sample quiescence.Sample, ok bool) {
	if j.isOver() {
		return sample, false
	}
	fresh := false
	j.held(func(channels *dataplane.Job, _ *stewardpool.Steward, handle *switcher.Handle) {
		sample.Now = realtime.Now()
		sample.On = handle.Ran(sample.Now)
		if fresh = sample.On != s.on; fresh {
			s.on = sample.On
			channels.Cut(&s.cut)
		}
	})
	if !fresh {
		sample.Ranks = s.cut.Ranks
		return sample, false
	}
	twice := s.watch.Asleep() && s.cut.Asleep < s.cut.Ranks
	if twice {
		time.Sleep(lookTwice) // without the job's lock
	}
	j.held(func(channels *dataplane.Job, steward *stewardpool.Steward, _ *switcher.Handle) {
		if twice {
			channels.Cut(&s.cut)
		}
		var err error
		sample.CPU, err = steward.CPUTime()
		sample.Ranks, sample.Asleep, sample.Pending, sample.Mark = s.cut.Ranks, s.cut.Asleep, s.cut.Pending, markOf(&s.cut)
		s.watched = steward.Container.FD() >= 0
		ok = err == nil
	})
	return sample, ok
}

// answer tells the leader how a job is now, and, if it asks for that, what could wake it. What
// happens while that is found out is seen by the look after it.
func (c *cuts) answer(question *scorev1.AskCut) {
	j := c.agent.jobs.get(question.GetJobId())
	if j == nil {
		return
	}
	s := c.jobs[j]
	if s == nil {
		return
	}
	reply := &scorev1.Cut{Request: question.GetRequest()}
	if question.GetExamine() && s.watch.Asleep() {
		reply.Examined, reply.WakeSource = true, j.waker(&s.cut)
		reply.Waits = j.waits(&s.cut)
	}
	if c.look(j) != nil {
		j.tellCut(s, reply)
	}
}

// waker is what could wake the job here; empty: nothing.
func (j *job) waker(cut *node.Cut) string {
	for i := range cut.Waits {
		if cut.Waits[i].How == abi.WaitTimed {
			return "a rank waits with a deadline"
		}
	}
	var pids []int
	var own wakesource.Own
	j.held(func(channels *dataplane.Job, steward *stewardpool.Steward, _ *switcher.Handle) {
		pids, _ = steward.Container.Pids(nil)
		own = channels.Own()
	})
	if len(pids) == 0 {
		return "its processes cannot be listed"
	}
	return wakesource.Find(pids, own)
}

// tellCut tells the leader how the job is, with what the reply says beyond.
func (j *job) tellCut(s *sleeper, reply *scorev1.Cut) {
	if reply == nil {
		reply = &scorev1.Cut{}
	}
	reply.JobId, reply.Asleep, reply.Epoch = j.id, s.watch.Asleep(), s.watch.Epoch()
	reply.Sent, reply.Received, reply.Refused = s.cut.Sent, s.cut.Received, s.cut.Refused
	reply.Ranks, reply.Waiting, reply.Pending = uint32(s.cut.Ranks), uint32(s.cut.Asleep), uint32(s.cut.Pending)
	j.tell(&scorev1.AgentMessage{Message: &scorev1.AgentMessage_Cut{Cut: reply}}, false)
}

var waitNames = map[uint32]string{abi.WaitMessage: "a message", abi.WaitSpace: "space", abi.WaitTimed: "a message or a time"}

// waits are how the ranks sleep.
func (j *job) waits(cut *node.Cut) (waits []*scorev1.RankWait) {
	for i := range cut.Waits {
		w := &cut.Waits[i]
		if !w.Sleeps() {
			continue
		}
		waits = append(waits, &scorev1.RankWait{
			Rank: w.Rank, Channel: w.Channel, Wait: waitNames[w.How], SinceNanos: j.agent.clock.Cluster(w.Since),
			Sent: w.Sent, Received: w.Received,
		})
	}
	return waits
}

// markOf is another number when a rank has sent, received, or waits another time (FNV-1a).
func markOf(cut *node.Cut) uint64 {
	const basis, prime = 14695981039346656037, 1099511628211
	mark := uint64(basis)
	mix := func(v uint64) {
		for range 8 {
			mark = (mark ^ v&0xff) * prime
			v >>= 8
		}
	}
	mix(cut.Sent)
	mix(cut.Received)
	for i := range cut.Waits {
		w := &cut.Waits[i]
		for _, v := range []uint64{uint64(w.Rank)<<32 | uint64(w.Channel), uint64(w.How), uint64(w.Since), w.Sent, w.Received} {
			mix(v)
		}
	}
	return mark
}
