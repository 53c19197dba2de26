package uct

import (
	"score/pm/interjob"
	"score/pm/mem"
	"score/pm/uct/order"
	"time"
)

// MaxOps bounds the operations of one EP that are under way: each costs some 290 bytes, and a
// program that starts more gains nothing over a long queue at the target.
const MaxOps = 1024

// EP is the way to one peer.
type EP struct {
	iface  *Iface
	rank   int
	local  bool
	other  *interjob.Peer // of another job; nil: a rank of this one
	active bool           // in the interface's list

	// A peer is open, then lost (failed is set: nothing more is sent to it), then ended (everything
	// under way has completed). It ends when inboundClosed is set, or when the inbox holds nothing
	// from it any more.
	failed        error
	inboundClosed bool // nothing more is received from it
	ended         bool
	since         time.Time // when it was lost; only of peers on other nodes

	// As origin. Requests are numbered in the order of the channel; ops in out were not sent whole,
	// those in unacked were.
	out     opList
	unacked opList
	asks    order.Origin
	ops     int // in out, unacked or waiting for data
	gets    int // of these, those that wait for data
	reads   int // and of these, long ones: what writes waits for their end
	barrier *op // a put that the peer pulls: what was begun after it waits for its end

	// As target.
	answers order.Target
	serves  int      // in replies, or puts whose bytes are pulled
	sources []source // of long pulls, as they began
	oldest  int      // in sources: the next that is replaced

	// Answers that were not sent whole. They never wait for this rank's own operations in out:
	// those may wait for the peer's answers, which wait for nothing but the channel.
	replies queue[*reply]

	pending queue[Pending]
	serving bool // pending operations are being tried
	wanted  int  // length of the message for which there was no room last, 0 after one was sent

	process *mem.Peer // nil: not opened, or not on this node
	tried   bool      // opening it was tried
	copies  copies    // whether the peer copies from and to this process
	pace    pace
	remotes remotes
}

// Rank returns the peer's rank.
func (e *EP) Rank() int { return e.rank }

// Local reports whether the peer is on this node.
func (e *EP) Local() bool { return e.local }

// Err is not nil once the peer was lost.
func (e *EP) Err() error { return e.failed }

// ready returns why no operation may begin now, or nil.
func (e *EP) ready() error {
	if e.failed != nil {
		return e.failed
	}
	if e.pending.len() > 0 && !e.serving {
		return ErrAgain // it would overtake those that wait
	}
	return nil
}

// activate puts the EP on the list that Progress works through.
func (e *EP) activate() {
	if !e.active {
		e.active = true
		e.iface.active = append(e.iface.active, e)
	}
}

// advance sends what there is room for; more reports whether something is left.
func (e *EP) advance() (n int, more bool) {
	if e.failed != nil || e.unnamed() {
		return 0, false
	}
	n += e.advanceReplies() + e.advanceOut()
	if upTo, due := e.answers.Due(); due && e.failed == nil {
		if e.send(Header{ID: idAck, Arg: upTo}, nil) == nil {
			e.answers.Acked(upTo)
			n++
		}
	}
	n += e.retryPending()
	return n, e.failed == nil && (e.out.first != nil && !e.held(e.out.first) || e.replies.len() > 0 || e.answers.Owes() || e.pending.len() > 0)
}

func (e *EP) advanceOut() (n int) {
	for e.out.first != nil {
		sent, whole := e.advanceOp(e.out.first)
		n += sent
		if !whole {
			break
		}
	}
	return n
}

// owes reports whether the peer has to answer something.
func (e *EP) owes() bool { return e.ops > 0 || e.pending.len() > 0 }

func (e *EP) release() {
	e.releaseRemotes()
	if e.process != nil {
		_ = e.process.Close()
		e.process = nil
	}
}
