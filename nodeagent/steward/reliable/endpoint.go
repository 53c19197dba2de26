package reliable

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"
)

// Bounds, each with its reason.
const (
	// maxOpen bounds the unacknowledged messages to all peers together: each rank of a large node
	// asks for the keys of a few others at once.
	maxOpen = 4096
	// MaxBytes bounds the bytes of unacknowledged messages: the keys of some ranks of the largest
	// size.
	MaxBytes = 128 << 20
	// maxTransit bounds the bytes of messages that have been sent and are not acknowledged; the
	// next ones wait. So what is sent, and repeated, fits into the buffers on the way, and is twice
	// the data of a large rank. An acknowledgement may take a tenth of a second: 160 MB each
	// second.
	maxTransit = 16 << 20
	// repeatAfter is when a message is repeated for the first time: a new agent is
	// there within about a second. The time doubles up to maxRepeat, since a large
	// message may just be slow.
	repeatAfter = time.Second
	maxRepeat   = 8 * time.Second
	// Timeout is how long a peer may be out of reach: as long as a server may take
	// to come back.
	Timeout = 30 * time.Second
	// ackDelay is how long an acknowledgement waits for a message to go with.
	ackDelay = 100 * time.Millisecond
)

// ErrFull means that too many messages are unacknowledged; Send wraps it.
var ErrFull = errors.New("too many messages to other nodes are not acknowledged")

// Endpoint is one steward's end of all its exchanges.
type Endpoint struct {
	stream uint64
	peers  map[Peer]*peer
	open   int // messages, and their bytes
	bytes  int
	window int // maxTransit
	// transit counts the bytes of those that do not wait, and waiting the messages that do.
	transit, waiting int
	due              time.Time // no deadline is before it; zero: there is none

	pauses bool // see SetPause
	paused int  // peers that ask for a pause
}

// New returns an endpoint. The stream is larger than that of any endpoint before that the
// same peers may remember.
func New(stream uint64) *Endpoint {
	return &Endpoint{stream: stream, window: maxTransit, peers: make(map[Peer]*peer)}
}

// peer is the state of the exchange with a peer.
type peer struct {
	last uint64    // number of the last message to it
	open []unacked // not acknowledged, by number

	stream uint64          // of the messages from it
	upTo   uint64          // all messages up to this number have come, or will not
	beyond map[uint64]bool // later messages that have come
	ackAt  time.Time       // when an acknowledgement is due at the latest; zero: none is

	askAt       time.Time // when it must hear again whether to pause; zero: it does not pause
	pausedUntil time.Time // how long its own request to pause holds; zero: there is none
}

// unacked is a message that is not acknowledged.
type unacked struct {
	number uint64
	kind   Kind
	data   []byte
	waits  bool          // it has not been sent
	again  time.Time     // when it is repeated
	pause  time.Duration // until the repetition after that
	until  time.Time     // when it counts as lost
}

func (e *Endpoint) peer(at Peer) *peer {
	p := e.peers[at]
	if p == nil {
		p = &peer{beyond: make(map[uint64]bool)}
		e.peers[at] = p
	}
	return p
}

// Send numbers and keeps a message, and returns it for sending. If it must wait for others, ok is
// false, and Tick returns it later. The caller must not change data after that. The error wraps
// ErrFull.
func (e *Endpoint) Send(now time.Time, to Peer, data []byte, sendOptions SendOptions) (m Message, ok bool, err error) {
	if e.open == maxOpen || e.bytes+len(data) > MaxBytes {
		return Message{}, false, ErrFull
	}
	p := e.peer(to)
	p.last++
	after := cmp.Or(sendOptions.RepeatAfter, repeatAfter)
	k := unacked{
		number: p.last,
		kind:   sendOptions.Kind,
		data:   data,
		again:  now.Add(after),
		pause:  2 * after,
		until:  now.Add(cmp.Or(sendOptions.Timeout, Timeout)),
		waits:  e.waiting > 0 || !e.hasRoom(len(data)),
	}
	if k.waits {
		e.waiting++
		k.again, k.pause = time.Time{}, after
		e.wake(k.until)
	} else {
		e.transit += len(data)
		e.wake(k.again)
	}
	p.open = append(p.open, k)
	e.open, e.bytes = e.open+1, e.bytes+len(data)
	if k.waits {
		return Message{}, false, nil
	}
	return e.message(now, to, p, &k), true, nil
}

// hasRoom reports whether a message may be sent now: one at least.
func (e *Endpoint) hasRoom(bytes int) bool { return e.transit == 0 || e.transit+bytes <= e.window }

// forget counts a message that is not kept any more.
func (e *Endpoint) forget(now time.Time, k *unacked) {
	e.open, e.bytes = e.open-1, e.bytes-len(k.data)
	if k.waits {
		e.waiting--
		return
	}
	e.transit -= len(k.data)
	if e.waiting > 0 {
		e.wake(now)
	}
}

// message makes a message that carries the pending acknowledgement; k is nil for an acknowledgement
// alone.
func (e *Endpoint) message(now time.Time, to Peer, p *peer, k *unacked) Message {
	m := Message{To: to, Header: Header{
		Stream: e.stream, Least: p.last + 1, AckStream: p.stream, Ack: p.upTo, Pause: e.pauses,
	}}
	if len(p.open) > 0 {
		m.Least = p.open[0].number
	}
	if k != nil {
		m.Number, m.Kind, m.Data = k.number, k.kind, k.data
	}
	p.ackAt = time.Time{}
	e.notePauseSent(now, p)
	return m
}

// Receive handles a header, and reports whether its message is fresh: there is one, and it has not
// come before.
func (e *Endpoint) Receive(now time.Time, from Peer, h Header) (fresh bool) {
	p := e.peer(from)
	if h.AckStream == e.stream {
		e.onAck(now, p, h.Ack)
	}
	switch {
	case h.Stream < p.stream:
		return false // of a former steward
	case h.Stream > p.stream:
		p.stream, p.upTo = h.Stream, 0
		clear(p.beyond)
	}
	e.setPaused(now, p, h.Pause)
	if h.Least > 0 {
		p.advance(h.Least - 1)
	}
	if h.Number == 0 {
		return false
	}
	if p.ackAt.IsZero() {
		p.ackAt = now.Add(ackDelay)
		e.wake(p.ackAt)
	}
	if h.Number <= p.upTo || p.beyond[h.Number] || len(p.beyond) == maxOpen {
		return false
	}
	p.beyond[h.Number] = true
	p.advance(p.upTo)
	return true
}

// advance raises upTo to the number, and further over messages that have come without a gap.
func (p *peer) advance(upTo uint64) {
	if upTo > p.upTo {
		p.upTo = upTo
		maps.DeleteFunc(p.beyond, func(number uint64, _ bool) bool { return number <= upTo })
	}
	for p.beyond[p.upTo+1] {
		p.upTo++
		delete(p.beyond, p.upTo)
	}
}

// onAck drops the messages that a peer has received.
func (e *Endpoint) onAck(now time.Time, p *peer, upTo uint64) {
	n := 0
	for n < len(p.open) && p.open[n].number <= upTo {
		e.forget(now, &p.open[n])
		n++
	}
	p.open = slices.Delete(p.open, 0, n)
}

// Withdraw removes an unacknowledged message to a peer that is gone; ok is false if there is none
// with the number.
func (e *Endpoint) Withdraw(now time.Time, to Peer, number uint64) (message Message, ok bool) {
	p := e.peer(to)
	i := slices.IndexFunc(p.open, func(k unacked) bool { return k.number == number })
	if i < 0 {
		return Message{}, false
	}
	message = Message{To: to, Kind: p.open[i].kind, Data: p.open[i].data}
	e.forget(now, &p.open[i])
	p.open = slices.Delete(p.open, i, i+1)
	return message, true
}

// Acknowledge returns all pending acknowledgements, due or not.
func (e *Endpoint) Acknowledge(now time.Time) (messages []Message) {
	for _, to := range e.sorted() {
		if p := e.peers[to]; !p.ackAt.IsZero() {
			messages = append(messages, e.message(now, to, p, nil))
		}
	}
	return messages
}

// Awaits reports whether a message of a kind is not acknowledged.
func (e *Endpoint) Awaits(kind Kind) bool {
	for _, p := range e.peers {
		if slices.ContainsFunc(p.open, func(k unacked) bool { return k.kind == kind }) {
			return true
		}
	}
	return false
}

// Unacknowledged returns the number of unacknowledged messages, and their bytes.
func (e *Endpoint) Unacknowledged() (messages, bytes int) { return e.open, e.bytes }

// sorted lists the peers in a fixed order, so that the effects do not depend on the map's.
func (e *Endpoint) sorted() []Peer {
	return slices.SortedFunc(maps.Keys(e.peers), comparePeers)
}
