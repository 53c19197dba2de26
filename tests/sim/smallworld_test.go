package sim

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"score/flowctl"
	"slices"
	"testing"
	"time"
)

// The small world: one sender, one receiver, a window of two, four messages, and
// every fate that the network can give to every frame.
const (
	smallMessages = 4
	smallFirst    = 1<<32 - 2 // the numbers wrap in the middle
	smallBound    = 1_000_000 // states; a change that makes more is a mistake
)

// small is a state of the small world.
type small struct {
	s        flowctl.Sender
	r        flowctl.Receiver
	frames   []packet // on the way to the receiver, oldest first
	answers  []packet // on the way to the sender
	now      int64
	accepted uint32
	held     uint32 // messages in the inbox
	left     budget
}

// budget is how many faults may still happen.
type budget struct {
	losses    int
	copies    int // a copy comes after everything that is under way
	overtakes int // a frame comes before older ones
	early     int // a timer fires although something is under way
}

// packet is a frame in the network.
type packet struct {
	answer bool
	ask    bool
	data   flowctl.Data
	reply  flowctl.Answer
}

// explorer walks through all states.
type explorer struct {
	flow    flowctl.Config
	inbox   uint32
	hash    maphash.Hash
	key     []byte
	seen    map[uint64]struct{}
	pending []small
	ends    int   // states in which nothing is left to do
	err     error // the first thing that does not hold
}

// TestSmallWorld explores the world exhaustively, and prints how many states it has. Every state
// keeps order and bounds, every end is complete delivery, and from every state without further
// faults an end is reached.
func TestSmallWorld(t *testing.T) {
	for _, faults := range []budget{
		{losses: 1, copies: 1, overtakes: 1},
		{losses: 2, copies: 1, overtakes: 2},
		{losses: 1, copies: 1, overtakes: 1, early: 1},
	} {
		if faults.losses+faults.early > 1 && (testing.Short() || raceEnabled) {
			continue
		}
		for _, world := range []struct {
			name   string
			policy flowctl.Policy
			inbox  uint32
		}{
			{"ack/nack, inbox of 1", flowctl.AckNack{}, 1},
			{"ack/nack, inbox of 2", flowctl.AckNack{}, 2},
			{"credits, inbox of 2", flowctl.Credits{Initial: 1, Chunk: 1}, 2},
		} {
			x := newExplorer(world.policy, world.inbox)
			x.explore(faults)
			t.Logf("%s, %+v: %d states, %d ends", world.name, faults, len(x.seen), x.ends)
			if x.err != nil {
				t.Error(x.err)
			}
			if x.ends == 0 {
				t.Error("no end was reached")
			}
		}
	}
}

// TestSmallWorldFinds is the test of the tester.
func TestSmallWorldFinds(t *testing.T) {
	for _, policy := range []flowctl.Policy{acceptsAll{}, sendsNothing{}} {
		x := newExplorer(policy, 1)
		x.explore(budget{losses: 1, overtakes: 1})
		if x.err == nil {
			t.Errorf("%T: nothing found in %d states", policy, len(x.seen))
		}
	}
}

// acceptsAll accepts without room.
type acceptsAll struct{ flowctl.AckNack }

func (acceptsAll) Accepts(*flowctl.Config, *flowctl.Receiver, uint32) bool { return true }

// sendsNothing never allows a frame.
type sendsNothing struct{ flowctl.AckNack }

func (sendsNothing) MaySend(*flowctl.Config, *flowctl.Sender) uint32 { return 0 }

func newExplorer(policy flowctl.Policy, inbox uint32) *explorer {
	x := &explorer{flow: flowctl.DefaultConfig(), inbox: inbox, seen: map[uint64]struct{}{}}
	x.flow.Policy = policy
	x.flow.MinWindow, x.flow.InitialWindow, x.flow.MaxWindow = 1, 2, 2
	x.flow.AckEvery = 2
	x.flow.FailAfter = time.Hour // giving up is another test's matter
	return x
}

// explore visits every state, breadth first.
func (x *explorer) explore(faults budget) {
	first := small{now: int64(time.Second), left: faults}
	first.s.Reset(smallFirst)
	first.r.Reset(smallFirst)
	first.s.Queue(smallMessages)
	x.visit(first)
	for len(x.pending) > 0 && x.err == nil {
		level := x.pending
		x.pending = nil
		for i := range level {
			x.follow(&level[i])
		}
		if len(x.seen) > smallBound {
			x.fail("more than %d states", smallBound)
		}
	}
}

// fail notes the first thing that does not hold.
func (x *explorer) fail(format string, args ...any) {
	if x.err == nil {
		x.err = fmt.Errorf(format, args...)
	}
}

// drive puts on the network what the two ends want to send, as whoever drives
// them does after everything that happens.
func (x *explorer) drive(w *small) {
	for w.s.Sendable(&x.flow) {
		b := w.s.Send(&x.flow, w.now, 1)
		if b.Empty() {
			break
		}
		w.frames = append(w.frames, packet{ask: b.Count == 0, data: b.Data(0)})
	}
	if w.r.Due() {
		w.answers = append(w.answers, packet{answer: true, reply: w.r.Answer(&x.flow, x.room(w))})
	}
}

// visit notes a state, if it is new.
func (x *explorer) visit(w small) {
	x.drive(&w)
	x.check(&w)
	id := x.identify(&w)
	if _, known := x.seen[id]; known {
		return
	}
	x.seen[id] = struct{}{}
	x.pending = append(x.pending, w)
	x.finish(w)
}

// follow visits all states that can follow.
func (x *explorer) follow(w *small) {
	moved := w.held > 0 || len(w.frames)+len(w.answers) > 0
	if w.held > 0 {
		n := w.clone()
		x.read(&n)
		x.visit(n)
	}
	for i := range w.frames {
		x.fates(w, i, (*small).toReceiver)
	}
	for i := range w.answers {
		x.fates(w, i, (*small).toSender)
	}
	if moved && w.left.early == 0 {
		return
	}
	ticked := false
	for _, at := range []int64{w.s.Deadline(), w.r.Deadline()} {
		if at == flowctl.NoDeadline {
			continue
		}
		ticked = true
		n := w.clone()
		n.now = max(n.now, at)
		if moved {
			n.left.early--
		}
		if at == w.s.Deadline() {
			n.s.Tick(&x.flow, n.now)
		} else {
			n.r.Tick(&x.flow, n.now)
		}
		x.visit(n)
	}
	if !moved && !ticked {
		x.ends++
		x.checkEnd(w)
	}
}

// fates visits the states that follow from what can happen to packet i of a
// direction.
func (x *explorer) fates(w *small, i int, direction func(*small) *[]packet) {
	if i == 0 || w.left.overtakes > 0 {
		n := w.clone()
		if i > 0 {
			n.left.overtakes--
		}
		x.arrive(&n, take(direction(&n), i))
		x.visit(n)
	}
	if w.left.losses > 0 {
		n := w.clone()
		n.left.losses--
		take(direction(&n), i)
		x.visit(n)
	}
	if w.left.copies > 0 {
		n := w.clone()
		n.left.copies--
		q := direction(&n)
		*q = append(*q, (*q)[i])
		x.visit(n)
	}
}

func (w *small) toReceiver() *[]packet { return &w.frames }
func (w *small) toSender() *[]packet   { return &w.answers }

// take removes packet i.
func take(q *[]packet, i int) packet {
	p := (*q)[i]
	*q = slices.Delete(*q, i, i+1)
	return p
}

// arrive hands a packet to its end.
func (x *explorer) arrive(w *small, p packet) {
	switch {
	case p.answer:
		w.s.OnAnswer(&x.flow, w.now, p.reply)
	case p.ask:
		w.r.OnAsk(&x.flow, w.now, p.data, x.room(w))
	case w.r.OnData(&x.flow, w.now, p.data, x.room(w)) == flowctl.Accept:
		if p.data.Seq != smallFirst+flowctl.Seq(w.accepted) {
			x.fail("frame %d accepted, want %d", p.data.Seq, smallFirst+w.accepted)
		}
		w.accepted++
		w.held++
	}
}

func (x *explorer) room(w *small) uint32 { return x.inbox - w.held }

// check checks what holds in every state.
func (x *explorer) check(w *small) {
	s, r := w.s.Status(), w.r.Status()
	switch {
	case w.held > x.inbox:
		x.fail("%d messages in an inbox of %d", w.held, x.inbox)
	case w.s.Unacked() > uint32(x.flow.MaxWindow):
		x.fail("%d frames in flight", w.s.Unacked())
	case uint32(s.Acked-smallFirst) > w.accepted:
		x.fail("%d frames released, %d accepted", s.Acked-smallFirst, w.accepted)
	case int32(s.Answered-r.Echo) > 0:
		x.fail("transmission %d counts as answered, the newest seen is %d", s.Answered, r.Echo)
	}
}

// checkEnd checks a state in which nothing is left to do.
func (x *explorer) checkEnd(w *small) {
	if w.accepted != smallMessages || w.s.Acked() != w.s.End() {
		x.fail("the world stands still: %d accepted, sender %+v, receiver %+v", w.accepted, w.s.Status(), w.r.Status())
	}
}

// finish goes on without faults until everything is acknowledged, which must come
// soon.
func (x *explorer) finish(w small) {
	const soon = 200 // steps; far more than four messages need
	w = w.clone()
	for range soon {
		switch {
		case w.accepted == smallMessages && w.s.Acked() == w.s.End():
			return
		case len(w.frames) > 0:
			x.arrive(&w, take(&w.frames, 0))
		case len(w.answers) > 0:
			x.arrive(&w, take(&w.answers, 0))
		case w.held > 0:
			x.read(&w)
		default:
			w.now = max(w.now, min(w.s.Deadline(), w.r.Deadline()))
			w.s.Tick(&x.flow, w.now)
			w.r.Tick(&x.flow, w.now)
		}
		x.drive(&w)
	}
	x.fail("no end in sight: %d accepted, sender %+v, receiver %+v", w.accepted, w.s.Status(), w.r.Status())
}

// read takes a message from the inbox.
func (x *explorer) read(w *small) {
	w.held--
	if w.r.Waits(&x.flow) {
		w.r.OnRoom(&x.flow, w.now, x.room(w))
	}
}

func (w *small) clone() small {
	n := *w
	n.frames, n.answers = slices.Clone(w.frames), slices.Clone(w.answers)
	return n
}

// words returns the packet's content, transmissions counted back from tx.
func (p *packet) words(tx flowctl.Tx) []uint32 {
	flags := uint32(p.reply.Kind) << 8
	if p.answer {
		return []uint32{flags | 1, uint32(p.reply.Next), uint32(tx - p.reply.Echo), uint32(p.reply.Room)}
	}
	if p.ask {
		flags |= 2
	}
	return []uint32{flags | uint32(p.data.Mark)<<16, uint32(p.data.Seq), uint32(tx - p.data.Tx)}
}

// identify returns a hash of what makes a difference for the protocol: instants
// only as set or not, since any timer may fire first here; transmission numbers
// only relative to each other.
func (x *explorer) identify(w *small) uint64 {
	tx := w.s.Status().Sent
	x.key = x.key[:0]
	x.fields(reflect.ValueOf(&w.s).Elem(), uint32(tx))
	x.fields(reflect.ValueOf(&w.r).Elem(), uint32(tx))
	x.words(w.accepted, w.held, uint32(w.left.losses), uint32(w.left.copies), uint32(w.left.overtakes), uint32(w.left.early))
	for _, q := range [][]packet{w.frames, w.answers} {
		x.words(uint32(len(q)))
		for i := range q {
			x.words(q[i].words(tx)...)
		}
	}
	x.hash.Reset()
	x.hash.Write(x.key)
	return x.hash.Sum64()
}

// fields adds the fields of a machine to the key.
func (x *explorer) fields(v reflect.Value, tx uint32) {
	const sampling = 1 // of the sender's flags: a round trip is being measured
	for i := range v.NumField() {
		switch f := v.Field(i); v.Type().Field(i).Name {
		case "srtt", "rttvar", "sample", "sampleAt", "silent", "_":
		case "deadline":
			if f.Int() != 0 {
				x.words(1)
			} else {
				x.words(0)
			}
		case "tx", "echo", "back", "asked":
			x.words(tx - uint32(f.Uint()))
		case "tries":
			if v.Type() == reflect.TypeFor[flowctl.Receiver]() {
				x.words(uint32(f.Uint()))
			}
		case "flags":
			if v.Type() == reflect.TypeFor[flowctl.Sender]() {
				x.words(uint32(f.Uint()) &^ sampling)
				continue
			}
			x.words(uint32(f.Uint()))
		default:
			x.words(uint32(f.Uint()))
		}
	}
}

func (x *explorer) words(words ...uint32) {
	for _, w := range words {
		x.key = append(x.key, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
}
