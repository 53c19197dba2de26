package sim

import (
	"score/pm/uct/order"
	"score/pm/uct/pull"
	"time"
)

// Bounds of transports.
const (
	maxOps       = 6  // of a rank
	maxUnderWay  = 3  // of them at a time, to each peer
	framesInTurn = 8  // sent, or taken, before the process looks at something else
	piecesInTurn = 16 // of one operation
	// owedSleep bounds a sleep while a peer owes something: it may be gone.
	owedSleep = int64(100 * time.Millisecond)
	// transportBound is how much longer a world may last: some hundred messages go from one rank to
	// another, and each is several frames where datagrams are short.
	transportBound = 4 * time.Second
)

// transport is what a rank does with the messages of its context: rendezvous, puts, gets and
// atomics, as package pm/uct does them. Real are the machines that decide: which requests were
// served (order), what is asked for of a long transfer (pull.Reader) and what is sent of it
// (pull.Owner). Around them stands what pm/uct has around them, less all that is memory and system
// calls.
//
// Messages are those of the context. What one means is looked up at its sender, by its number.
type transport struct {
	e      *end
	bugs   *transportBugs
	plan   transportPlan
	dice   rng
	reader *pull.Reader
	peers  []*transportPeer // by rank; nil: the rank itself
	calls  []*call          // by number, less 1; nil: unused
	free   []uint32
	token  uint32
	socket []bulkFrame // frames that came and were not taken
	held   int         // their bytes
	tickAt int64       // a look in the queue; 0: none

	exposed []*memory // by number
	unused  []uint32
	counter uint64 // of this rank, to which others add
	todo    []*operation
}

// transportPeer is the way to another rank.
type transportPeer struct {
	rank    uint16
	flow    *flow
	said    []transportMessage // by number of the message
	out     []*operation
	unacked []*operation
	barrier *operation // a put that the peer pulls: what was begun after it waits
	reads   int        // gets that are long: what writes waits for their end
	replies []*answering
	asks    order.Origin
	answers order.Target
	sends   []*operation // rendezvous, by number, less 1
	slot    memory       // which the peer puts to, and gets from
	written memory       // what is in this rank's slot at the peer once all was served
	active  int          // operations to the peer that have not ended
	adds    uint64       // to the peer's counter that have ended
	highest uint64       // what a fetch-and-add returned last
	lost    bool
}

// operationKind is the kind of an operation.
type operationKind uint8

const (
	opSend  operationKind = iota // a rendezvous: the peer pulls
	opPut                        // short, in pieces through the channel
	opFill                       // long: the peer pulls
	opGet                        // in pieces through the channel
	opPull                       // long
	opAdd                        // acknowledged
	opFetch                      // answered
	opWrong                      // a put to a key that is not there
	operationKinds
)

// operation is what a rank does to a peer's memory, or a message that it sends.
type operation struct {
	kind   operationKind
	peer   *transportPeer
	length uint64
	value  int64       // of the bytes that it writes
	want   []memoryRun // that it reads
	at     uint64
	run    order.Run
	failed bool   // the peer refused it
	source uint64 // key of its memory, which the peer reads
	reads  bool   // counted in the peer's reads
	taken  bool   // its memory was taken away while it was read
	ended  bool
}

// call is a transfer that this rank reads, or an answer that it waits for.
type call struct {
	id     uint32
	peer   *transportPeer
	op     *operation // nil: a put or a send of the peer
	send   uint32     // number of the peer's send
	fills  bool       // a put of the peer: the bytes go to its slot
	buffer memory
	want   []memoryRun
	pull   *pull.Pull // nil: bytes come through the channel by themselves
	token  uint32
	key    uint64
	length uint64
	got    uint64
	late   bool // it has ended for its caller
}

// answering is an answer that was not sent whole.
type answering struct {
	what   transportMessage
	piece  pull.Owner // of msgAsk's answer
	bulk   bool
	memory *memory
	turn   uint32    // of the memory, when it was asked for
	run    order.Run // of a refusal
}

// transportBugs are planted by tests.
type transportBugs struct {
	noTokens, noBarrier, noReads, noTurns, earlyNumbers, noRepeat, takesAll, ackFirst, keepsReading bool
}

// addTransport gives an end's process operations in place of messages.
func (k *cluster) addTransport(e *end) {
	t := &transport{
		e: e, plan: e.part.job.transports, bugs: &k.bugs,
		dice: rng{state: uint64(e.index)*0x9e3779b97f4a7c15 ^ k.transportSeed},
	}
	t.reader = pull.New(pull.ConfigFor(t.plan.room))
	e.transport = t
	e.flows = make([]flow, 0, e.spec.Ranks)
	for rank := range e.spec.Ranks {
		if rank == e.spec.Rank {
			t.peers = append(t.peers, nil)
			continue
		}
		e.flows = append(e.flows, flow{to: rank})
		t.peers = append(t.peers, &transportPeer{
			rank: rank, flow: &e.flows[len(e.flows)-1], slot: newMemory(slotBytes, 0), written: newMemory(slotBytes, 0),
		})
	}
	for range t.dice.below(maxOps + 1) {
		t.todo = append(t.todo, t.drawOperation())
	}
}

// turn is a turn of the process, after it has received messages.
func (t *transport) turn() {
	for _, p := range t.peers {
		if p != nil && !p.lost && t.e.ctx.Lost(p.rank) {
			t.lose(p)
		}
	}
	t.ask()
	t.begin()
	t.revoke()
	for _, p := range t.peers {
		if p != nil && !p.lost {
			t.advance(p)
		}
	}
	for _, p := range t.peers {
		if p != nil {
			p.flow.left = 0
			if t.wants(p) {
				p.flow.left = 1
			}
		}
	}
	t.schedule()
}

// schedule makes the process check again when a pull needs a tick.
func (t *transport) schedule() {
	w, at := t.e.w, t.reader.Deadline()
	if _, _, _, asks := t.reader.Next(); asks || len(t.socket) > 0 || len(t.todo) > 0 {
		at = min(at, w.now+t.e.think)
	}
	if !t.done() {
		at = min(at, w.now+owedSleep)
	}
	if at == pull.NoDeadline {
		return
	}
	if at = max(at, w.now+1); t.tickAt <= w.now || at < t.tickAt {
		t.tickAt = at
		w.queue.add(at, evTransport, t.e.index, 0)
	}
}

// check is a scheduled check.
func (t *transport) check(at int64) {
	if t.tickAt == at {
		t.tickAt = 0
	}
	if t.e.running() {
		t.e.w.wake(t.e, t.e.w.now+1)
	}
}

// wants reports whether there is something to send to the peer.
func (t *transport) wants(p *transportPeer) bool {
	return !p.lost && (len(p.replies) > 0 || p.answers.Owes() || len(p.out) > 0 && p.barrier == nil)
}

// begin begins operations.
func (t *transport) begin() {
	kept := t.todo[:0]
	for i, o := range t.todo {
		switch {
		case o.peer.lost:
		case o.peer.active >= maxUnderWay || i > 0 && t.dice.chance(300):
			kept = append(kept, o)
		default:
			t.start(o)
		}
	}
	t.todo = kept
}

func (t *transport) start(o *operation) {
	p := o.peer
	p.active++
	switch o.kind {
	case opPut, opFill:
		p.written.write(0, o.length, o.value)
	case opGet, opPull:
		o.want = p.written.read(0, o.length)
	default:
	}
	p.out = append(p.out, o)
}

// end ends an operation, once.
func (t *transport) end(o *operation, failed bool) {
	w := t.e.w
	if o.ended {
		w.fail(Right, "%v: %v ended twice", t.e, o)
		return
	}
	o.ended = true
	o.peer.active--
	w.res.Operations++
	if o.kind == opSend || o.kind == opFill {
		t.conceal(o.source)
	}
	if !failed && (o.kind == opAdd || o.kind == opFetch) {
		o.peer.adds++
	}
	if o.reads {
		o.peer.reads--
	}
	if failed != (o.kind == opWrong) && !o.peer.lost && !o.taken {
		w.fail(Right, "%v: %v ended with an error %v", t.e, o, failed)
	}
}
