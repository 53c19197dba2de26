package uct

import (
	"score/pm"
	"score/pm/interjob"
	"score/pm/mem"
	"score/pm/uct/order"
	"time"
)

// MaxOps bounds the operations of one EP that are under way: each costs some 320 bytes, and a
// program that starts more gains nothing over a long queue at the target.
const MaxOps = 1024

// lingerTimeout is how long this rank waits for the last messages of a peer on another node after
// the notice that it closed: agents resend them for that long, and it covers a few slices of other
// gangs.
const lingerTimeout = time.Second

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
	serves  int      // in replies
	sources []source // of long pulls, as they began
	oldest  int      // in sources: the next that is replaced

	// Answers that were not sent whole. They never wait for this rank's own operations in out:
	// those may wait for the peer's answers, which wait for nothing but the channel.
	replies opList

	pending pendingList
	serving bool // pending operations are being tried
	wanted  int  // length of the message for which there was no room last, 0 after one was sent

	process *mem.Peer // nil: not opened, or not on this node
	tried   bool      // opening it was tried
	copies  copies    // whether the peer copies from and to this process
	pace    pace
	remotes remotes
}

// Pending is an operation that waits for resources.
type Pending interface {
	// Retry begins the operation. ErrAgain keeps it in the queue; anything else removes it.
	Retry() error
}

// pendingList is a queue of operations. To remove the first of them takes constant time, however many
// wait, over many removals.
type pendingList struct {
	ops   []Pending
	first int // those before it were removed
}

func (l *pendingList) push(p Pending) { l.ops = append(l.ops, p) }

func (l *pendingList) len() int { return len(l.ops) - l.first }

func (l *pendingList) at(n int) Pending { return l.ops[l.first+n] }

// remove removes the first n.
func (l *pendingList) remove(n int) {
	clear(l.ops[l.first : l.first+n])
	l.first += n
	if l.first < l.len() {
		return
	}
	left := copy(l.ops, l.ops[l.first:])
	clear(l.ops[left:])
	l.ops, l.first = l.ops[:left], 0
}

// Rank returns the peer's rank.
func (e *EP) Rank() int { return e.rank }

// Local reports whether the peer is on this node.
func (e *EP) Local() bool { return e.local }

// Err is not nil once the peer was lost.
func (e *EP) Err() error { return e.failed }

// Send sends an active message with a copy of data as payload. The error is ErrAgain, ErrTooLong,
// or why the peer is lost.
func (e *EP) Send(h Header, data []byte) error {
	if err := e.ready(); err != nil {
		return err
	}
	return e.send(h, data)
}

func (e *EP) send(h Header, data []byte) error {
	return e.sendHead(pm.Head{First: h.word(), Words: 1}, data)
}

// SendWord is Send of a payload that begins with a word, before the copy of data. With up to 32
// bytes of data it is one cache line, as what Send sends with up to 40.
func (e *EP) SendWord(h Header, word uint64, data []byte) error {
	if err := e.ready(); err != nil {
		return err
	}
	return e.sendHead(pm.Head{First: h.word(), Second: word, Words: 2}, data)
}

func (e *EP) sendHead(h pm.Head, data []byte) error {
	if e.other != nil {
		return e.sendHeadOther(h, data)
	}
	if err := e.iface.ch.SendHead(e.rank, h, data); err != nil {
		e.wanted = 8*h.Words + len(data)
		return e.onSendError(err)
	}
	e.wanted = 0
	return nil
}

// Reserve returns the place of an active message's payload of n bytes, to be filled and then sent
// by Commit: with an exclusive lane that is the receiver's memory. Errors are those of Send.
func (e *EP) Reserve(h Header, n int) ([]byte, error) {
	if err := e.ready(); err != nil {
		return nil, err
	}
	return e.reserve(h, n)
}

func (e *EP) reserve(h Header, n int) ([]byte, error) {
	if e.other != nil {
		return e.reserveOther(h, n)
	}
	buf, err := e.iface.ch.GetSendBuffer(e.rank, HeadBytes+n)
	if err != nil {
		e.wanted = HeadBytes + n
		return nil, e.onSendError(err)
	}
	e.wanted = 0
	putHeader(buf, h)
	return buf[HeadBytes:], nil
}

// Commit sends the message that Reserve began. With ErrAgain nothing was sent, and the message
// must be begun again.
func (e *EP) Commit() error {
	if e.other != nil {
		return e.commitOther()
	}
	if err := e.iface.ch.Send(); err != nil {
		return e.onSendError(err)
	}
	return nil
}

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

func (e *EP) onSendError(err error) error {
	err = sendError(err)
	if err == ErrAgain || err == ErrTooLong { //nolint:errorlint // sendError returns these very values
		return err
	}
	e.lose(err)
	return err
}

// Pend appends an operation to the queue of those that wait for resources.
func (e *EP) Pend(p Pending) {
	e.iface.counts.Exhausted++
	e.pending.push(p)
	e.activate()
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
	n += e.advanceList(&e.replies) + e.advanceList(&e.out)
	if upTo, due := e.answers.Due(); due && e.failed == nil {
		if e.send(Header{ID: idAck, Arg: upTo}, nil) == nil {
			e.answers.Acked(upTo)
			n++
		}
	}
	n += e.retryPending()
	return n, e.failed == nil && (e.out.first != nil && !e.held(e.out.first) || e.replies.first != nil || e.answers.Owes() || e.pending.len() > 0)
}

func (e *EP) advanceList(l *opList) (n int) {
	for l.first != nil {
		sent, whole := e.advanceOp(l.first)
		n += sent
		if !whole {
			break
		}
	}
	return n
}

func (e *EP) retryPending() (n int) {
	if e.pending.len() == 0 || e.failed != nil {
		return 0
	}
	e.serving = true
	for n < e.pending.len() && e.pending.at(n).Retry() != ErrAgain { //nolint:errorlint // this very value
		n++
	}
	e.serving = false
	e.pending.remove(n)
	return n
}

// owes reports whether the peer has to answer something.
func (e *EP) owes() bool { return e.ops > 0 || e.pending.len() > 0 }

// lose records that nothing more can be sent to the peer. Its last messages may wait in the inbox,
// so operations end in a later call of Progress that finds the inbox empty.
func (e *EP) lose(err error) {
	if e.failed != nil {
		return
	}
	e.failed = err
	if !e.local {
		e.since = time.Now()
	}
	e.iface.lost = append(e.iface.lost, e)
}

// fail is lose for a peer from which nothing more is received: everything came, or it cannot be
// trusted. No operation ends within the call, so callers find theirs unchanged.
func (e *EP) fail(err error) {
	e.lose(err)
	e.inboundClosed = true
}

// arriving reports whether messages of a lost peer may still come. One on another node that closed
// its channel says so by a datagram, which may overtake its last messages.
func (e *EP) arriving() bool { return !e.local && time.Since(e.since) < lingerTimeout }

// end completes everything under way with the reason why the peer was lost.
func (e *EP) end() {
	if e.ended {
		return
	}
	e.ended, e.inboundClosed = true, true
	err := e.failed
	e.cancel(&e.replies, err)
	e.cancel(&e.out, err)
	e.cancel(&e.unacked, err)
	e.iface.calls.Each(func(o *op) {
		if o.ep == e {
			e.finish(o, err)
		}
	})
	for e.pending.len() > 0 {
		p := e.pending.at(0)
		e.pending.remove(1)
		_ = p.Retry() // it returns the EP's error to its owner
	}
	e.pending = pendingList{}
	if f := e.iface.onGone; f != nil {
		f(e, err)
	}
}

// Violated ends the exchange with a peer that broke the protocol of a layer above.
func (e *EP) Violated() { e.violated() }

// violated ends the exchange with a peer that broke the protocol.
func (e *EP) violated() {
	if e.failed == nil {
		e.iface.counts.GivenUp++
	}
	e.fail(ErrPeer)
}

func (e *EP) release() {
	e.releaseRemotes()
	if e.process != nil {
		_ = e.process.Close()
		e.process = nil
	}
}

// peerProcess is the peer's process, if it is on this node and may be reached.
func (e *EP) peerProcess() *mem.Peer {
	if e.tried || !e.local {
		return e.process
	}
	pid, start, ok := e.iface.ch.PeerProcess(e.rank)
	if !ok {
		return nil // it has not opened the channel yet
	}
	e.tried = true
	if p, err := e.iface.md.cache.OpenPeer(pid, start); err == nil {
		e.process = p
	}
	return e.process
}

// prefersCopy reports whether n bytes should be copied once between the processes, if the system
// allows that, instead of going in pieces through the channel.
func (e *EP) prefersCopy(n int) bool { return e.local && e.iface.crowded && n >= minCopy }

// transferFor returns how the n bytes of a put or a get move.
func (e *EP) transferFor(n int) transfer {
	switch {
	case e.prefersCopy(n) && e.peerCopies():
		return byCopy
	case e.usesBulk(n):
		return byBulk
	default:
		return byPieces
	}
}

// canCopy reports whether this process may copy from and to the peer's memory.
func (e *EP) canCopy() bool {
	p := e.peerProcess()
	return p != nil && p.CanCopy()
}
