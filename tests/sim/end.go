package sim

import (
	"fmt"
	"score/channels/link"
	"time"
)

// end is a context with its process and its surroundings.
type end struct {
	w     *world
	index int32
	group int // index of rank 0's end
	node  int
	ctx   Context
	spec  Spec
	usage Usage // as of the last touch

	address     link.Address
	dead        bool
	agentDrives bool     // though its process is dead, its agent drives it
	closed      bool     // its process is gone, and its agent sends the rest
	notified    []uint16 // ranks of whose death it was notified
	paused      bool     // nobody drives it
	socket      []int32  // flights that came meanwhile
	tickAt      int64    // its tick in the queue; 0 = none
	flushing    bool     // until flushed, or flushedBy
	flushedBy   int64
	away        bool // not resident

	// Where gangs are switched.
	part    *part
	shared  *sharedContext
	made    bool // its context exists
	madeAt  int64
	stopped bool // its process stands still, or does not exist
	ruined  bool // its process writes into its image what it likes

	transport *transport // what its process does; nil: it sends messages

	// Its process.
	waking  bool  // its turn is in the queue
	think   int64 // ns between turns
	greed   int   // messages received in a turn
	flows   []flow
	got     []uint64 // by sending rank: messages received
	tracks  []track  // by receiving rank
	entered uint64   // messages accepted when it left
}

// flow is the traffic to one rank.
type flow struct {
	to      uint16
	left    int
	next    uint64
	blocked bool // the send buffer was full, and nothing came from there since
}

// track is what is in flight to one rank, as the network knows it.
type track struct {
	made   uint32   // frames sent that want an answer
	newest uint32   // newest of them that arrived
	flying []uint32 // those in flight, copies by the network not counted
}

func newEnd(w *world, index, group, node int, ctx Context, spec Spec) *end {
	e := &end{
		w: w, index: int32(index), group: group, node: node, ctx: ctx, spec: spec, made: ctx != nil,
		think:  w.rng.span(int64(2*time.Microsecond), int64(100*time.Microsecond)),
		greed:  pick(&w.rng, 1, 4, spec.InboxCap),
		got:    make([]uint64, spec.Ranks),
		tracks: make([]track, spec.Ranks),
	}
	if w.rng.chance(250) {
		e.think, e.greed = w.rng.span(int64(100*time.Microsecond), int64(3*time.Millisecond)), 1
	}
	if spec.Drive != nil {
		e.address = contextAddress(node, index)
	}
	for to := range spec.Ranks {
		if w.rng.chance(400) && (spec.Drive == nil || to != spec.Rank) {
			e.flows = append(e.flows, flow{to: to, left: w.rng.between(1, maxMessages)})
		}
	}
	return e
}

// String names the end.
func (e *end) String() string {
	return fmt.Sprintf("job %d channel %d rank %d", e.spec.Job, e.spec.Channel, e.spec.Rank)
}

// running reports whether the process takes turns.
func (e *end) running() bool {
	if e.part != nil {
		return !e.gone() && !e.stopped && !e.ruined && (!e.made || !e.shared.grabbed)
	}
	return !e.gone() && !e.paused && !e.flushing && !e.away
}

// pending reports whether the process has something that it can send.
func (e *end) pending() bool {
	for i := range e.flows {
		if f := &e.flows[i]; f.left > 0 && !f.blocked {
			return true
		}
	}
	return false
}

// gone reports whether nobody receives here any more.
func (e *end) gone() bool { return e.dead || e.closed }

// silent reports whether nothing comes from this end any more.
func (e *end) silent() bool { return e.dead && !e.agentDrives }

// unblock notes that something came from a rank. Where ranks share a send buffer, what one
// acknowledges makes room for messages to all.
func (e *end) unblock(from uint16) {
	for i := range e.flows {
		if f := &e.flows[i]; f.to == from || e.spec.Drive != nil {
			f.blocked = false
		}
	}
}

// flushed reports whether nothing of this end is in flight, to any rank.
func (e *end) flushed() bool {
	for to := range e.spec.Ranks {
		if !e.ctx.Flushed(to) {
			return false
		}
	}
	return true
}

// process is a turn of an end's process: it receives and sends.
func (w *world) process(e *end) {
	e.waking = false
	if !e.running() {
		return
	}
	if !e.made && !w.cluster.open(e) {
		w.wake(e, w.now+undriven) // its agent is to come back first
		return
	}
	if e.transport != nil {
		e.transport.take()
	}
	for range e.greed {
		payload, ok := e.ctx.Receive(w.now)
		if !ok {
			break
		}
		w.received(e, payload)
	}
	if e.transport != nil {
		e.transport.turn()
		w.touch(e)
		return
	}
	if len(e.flows) > 0 {
		f := &e.flows[w.rng.below(len(e.flows))]
		for range w.rng.between(1, 8) {
			if f.left == 0 || !w.send(e, f) {
				break
			}
		}
	}
	w.touch(e)
}

// send queues a flow's next message.
func (w *world) send(e *end, f *flow) bool {
	m := Message{Job: e.spec.Job, Channel: e.spec.Channel, From: e.spec.Rank, To: f.to, Index: f.next}
	if !e.ctx.Send(w.now, f.to, m.Payload()) {
		f.blocked = true
		return false
	}
	f.left--
	f.next++
	return true
}

// wakeAgain has a process take the turn that it could not.
func (w *world) wakeAgain(e *end) {
	e.waking = false
	if e.running() {
		w.wake(e, w.now+undriven)
	}
}

// unpause gives an end its driver again, which first takes what waits.
func (w *world) unpause(e *end) {
	if e.silent() || !e.paused {
		return
	}
	e.paused = false
	waiting := e.socket
	e.socket = nil
	for _, ref := range waiting {
		w.input(e, ref)
	}
	e.ctx.Tick(w.now)
	w.touch(e)
}

// turnNode begins the next slice on a node.
func (w *world) turnNode(n int) {
	if w.calmed {
		return
	}
	on := w.turn[n] % len(w.jobs)
	w.turn[n]++
	w.queue.add(start+int64(w.turn[n])*w.slice+w.skew[n], evSwitch, 0, uint16(n))
	for _, e := range w.ends {
		if e.node != n || e.dead {
			continue
		}
		if int(e.spec.Job) == on {
			w.resume(e)
		} else {
			w.flush(e)
		}
	}
}

// flush begins to take an end off its channel.
func (w *world) flush(e *end) {
	if e.away || e.flushing {
		return
	}
	e.flushing, e.flushedBy = true, w.now+int64(FlushTimeout)
	w.queue.add(e.flushedBy, evCutoff, e.index, 0)
	e.ctx.Flush(w.now)
	w.touch(e)
}

// suspend takes an end off its channel.
func (w *world) suspend(e *end) {
	e.flushing, e.away = false, true
	e.ctx.Suspend(w.now)
	e.entered = e.ctx.Usage().Accepted
	w.touch(e)
}

// resume puts an end on its channel.
func (w *world) resume(e *end) {
	if e.dead || !e.away && !e.flushing {
		return
	}
	e.flushing, e.away = false, false
	e.ctx.Resume(w.now)
	w.touch(e)
}
