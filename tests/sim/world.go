package sim

import (
	"score/flowctl"
	"time"
)

const (
	// SettleBound bounds the time from the end of the faults until everything is
	// delivered and acknowledged: the longest waits that can follow each other
	// are a backed off ask (200 ms), a probe (100 ms) and a repeated Ready (64
	// ms), and a lost chain of them ended with the faults.
	SettleBound = time.Second
	// FlushTimeout is how long a switch waits for a context to be flushed.
	FlushTimeout = 2 * time.Millisecond
	// maxEvents bounds a run; the largest worlds take a tenth of it.
	maxEvents = 1_000_000
	// maxNotice is how long after a death its peers are notified at the latest. Peers that wait for
	// an answer give up earlier, so both happen.
	maxNotice = 11 * time.Second
	// start is the instant of a world's beginning, so that none is 0.
	start = int64(time.Second)
)

// world is a run.
type world struct {
	scenario
	rng     rng
	now     int64
	queue   queue
	ends    []*end
	flights []flight
	free    []int32 // unused flights
	last    [maxNodes][maxNodes]int64
	turn    []int // by node: slices that have begun
	calmed  bool
	dead    int      // ends that died
	missing int      // messages among live ends that were not received
	cluster *cluster // nil where nothing switches gangs but the clock

	bulk     []bulkFlight // datagrams under way
	freeBulk []int32
	values   int64 // that operations of transports wrote
	res      Result
}

// Run runs the world of a seed to its end, or to the first thing that does not
// hold.
func Run(seed uint64, opt Options) Result {
	if opt.Kind == Switch || opt.Kind == Transports {
		return runSwitched(seed, opt)
	}
	w := &world{rng: rng{state: seed}}
	w.res.Seed = seed
	w.scenario = draw(&w.rng)
	if drives(seed, opt.Kind, &w.scenario) {
		w.res.Driven = true
		w.drawDrives(seed)
	}
	if opt.Make == nil {
		opt.Make = NewContext
	}
	w.build(opt.Make)
	defer w.close()
	w.schedule()
	for w.res.Err == nil && w.step() {
	}
	w.res.Crashed = w.dead > 0
	w.res.Switched = w.slice > 0
	return w.res
}

// step lets the next event happen, and returns false at the end.
func (w *world) step() bool {
	ev, ok := w.queue.take()
	if !ok {
		w.fail(Delivery, "the world stands still: %s", w.unfinished())
		return false
	}
	w.now = ev.at
	w.res.Events++
	w.res.Digest = (w.res.Digest ^ uint64(ev.at) ^ uint64(ev.kind)<<56 ^ uint64(ev.ref)<<40) * 0x100000001b3
	w.happen(ev)
	if !w.calmed && w.res.Events <= maxEvents {
		return true
	}
	if w.calmed && w.done() {
		w.res.Settle = time.Duration(w.now - w.calm - start)
		w.checkFreed() // of those that are still there
		return false
	}
	if bound := w.bound(); w.now > bound || w.res.Events > maxEvents {
		w.fail(Delivery, "not delivered by %v: %s", time.Duration(bound-start), w.unfinished())
	}
	return true
}

// bound returns by when everything must be delivered, or its failure reported.
func (w *world) bound() int64 {
	if w.cluster != nil {
		return w.cluster.bound()
	}
	bound := start + w.calm + int64(SettleBound)
	if w.dead > 0 {
		bound += int64(w.flow.FailAfter)
	}
	if w.dead > 0 && w.res.Driven {
		bound += int64(maxNotice) // what others sent may lie behind half a message of the dead one
	}
	return bound
}

// build makes the contexts and their traffic.
func (w *world) build(make func(Spec) Context) {
	for _, j := range w.jobs {
		for channel := range j.channels {
			first := len(w.ends)
			for rank, node := range j.nodes {
				spec := j.spec
				spec.Channel, spec.Rank = uint16(channel), uint16(rank)
				if d := spec.Drive; d != nil {
					spec.Drive = d.of(first, rank)
				}
				w.ends = append(w.ends, newEnd(w, len(w.ends), first, node, make(spec), spec))
			}
		}
	}
	w.recount()
}

// schedule sets the events that do not follow from others.
func (w *world) schedule() {
	w.queue.add(start+w.calm, evFaultsEnd, 0, 0)
	for i, e := range w.ends {
		w.wake(e, start+w.rng.span(0, int64(time.Millisecond)))
		if w.rng.chance(300) {
			for range w.rng.between(1, 4) {
				at := start + w.rng.span(0, w.calm)
				w.queue.add(at, evPause, int32(i), 0)
				w.queue.add(at+w.rng.span(int64(100*time.Microsecond), int64(20*time.Millisecond)), evUnpause, int32(i), 0)
			}
		}
	}
	if w.rng.chance(250) {
		w.queue.add(start+w.rng.span(0, w.calm), evCrash, int32(w.rng.below(len(w.ends))), 0)
	}
	if w.res.Driven {
		w.scheduleChanges()
	}
	if w.slice > 0 {
		w.turn = make([]int, w.nodes)
		for n := range w.nodes {
			w.queue.add(start+w.skew[n], evSwitch, 0, uint16(n))
		}
	}
}

// endFaults ends all faults.
func (w *world) endFaults() {
	if w.cluster != nil {
		w.cluster.endFaults()
		return
	}
	w.calmed = true
	w.faults = faults{delay: w.faults.delay}
	for _, e := range w.ends {
		e.think, e.greed = int64(20*time.Microsecond), e.spec.InboxCap
		w.resume(e)
		w.unpause(e)
	}
}

// crash kills an end, which never answers again.
func (w *world) crash(e *end) {
	if w.calmed || e.dead {
		return
	}
	e.dead = true
	w.dead++
	if w.res.Driven {
		w.scheduleNews(e)
	}
	if w.res.Driven && !e.closed && w.rng.chance(500) {
		e.agentDrives = e.ctx.End(w.now)
	}
	w.recount()
	if e.agentDrives {
		w.touch(e)
		return
	}
	for _, ref := range e.socket {
		w.land(ref)
	}
	e.socket = nil
}

// peer returns the end of another rank of e's job on e's channel.
func (w *world) peer(e *end, rank uint16) *end { return w.ends[e.group+int(rank)] }

// wake schedules a turn of a process, unless one is scheduled.
func (w *world) wake(e *end, at int64) {
	if !e.waking {
		e.waking = true
		w.queue.add(at, evApp, e.index, 0)
	}
}

// touch lets a context act after something happened to it, and checks whether
// all holds.
func (w *world) touch(e *end) {
	if e.silent() || e.paused || !e.made {
		return
	}
	e.ctx.Output(w.now, e)
	w.check(e)
	if e.flushing && e.flushed() {
		w.suspend(e)
		return
	}
	if d := e.ctx.Deadline(); d != flowctl.NoDeadline && (e.tickAt == 0 || d < e.tickAt) {
		e.tickAt = max(d, w.now+1)
		w.queue.add(e.tickAt, evTick, e.index, 0)
	}
	if e.running() && (e.usage.Ready || e.pending()) {
		w.wake(e, w.now+e.think)
	}
}
