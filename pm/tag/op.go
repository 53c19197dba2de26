package tag

import (
	"score/pm/tag/match"
	"score/pm/uct"
)

// Space separates messages that never match each other.
type Space uint8

// Spaces of an endpoint.
const (
	Tagged   Space = iota // messages with tags
	Untagged              // messages that go to the oldest receive that takes their source
)

// Peer names an endpoint of another rank.
type Peer struct {
	Rank uint32
	Port uint8
}

// AnyPeer as the source of a receive takes messages of all peers.
var AnyPeer = Peer{Rank: match.AnySource}

// source is a peer as matching sees it. Ranks have 24 bits.
func (p Peer) source() uint32 {
	if p.Rank == match.AnySource {
		return match.AnySource
	}
	return p.Rank | uint32(p.Port)<<24
}

// Criteria say which messages a receive takes: those of Source, or of all if it is AnyPeer, whose
// tag equals Tag in all bits that Ignore does not have.
type Criteria struct {
	Space       Space
	Source      Peer
	Tag, Ignore uint64
}

func (c Criteria) match() match.Criteria {
	return match.Criteria{Source: c.Source.source(), Tag: c.Tag, Ignore: c.Ignore}
}

// Result is the result of an operation.
type Result struct {
	From    Peer   // of a receive
	Tag     uint64 // of a receive: the message's
	Length  int    // of the message, in bytes; more than the buffer has with ErrTruncated
	Bytes   []byte // of a receive: where the message is
	Data    uint64 // immediate data
	HasData bool
	Last    bool // of a receive into a buffer for many: the buffer is the caller's again
	Err     error
}

// Op is a send or a receive. Its memory is the caller's, who may use it again once it is done. It
// must not be copied or moved while it is under way.
type Op struct {
	recv match.Recv // first, so that it leads to the Op

	// OnDone, if set, is called when the operation is done, and for each message that comes into a
	// buffer for many.
	OnDone func(*Op)
	// Context is the caller's.
	Context uintptr
	Result

	ep    *Endpoint
	state state
	space Space
	buf   []byte

	// of a send
	peer    Peer
	to      *peer
	id      uint32 // when it is offered or untaken
	sync    bool   // it is done when a receive has the bytes
	beyond  int    // of the peer's beyondSent
	copied  bool   // buf is the stack's, and nobody is notified of the end
	exposed uct.Exposed

	// of a receive
	held     *Held // what is being fetched
	many     bool  // the buffer takes many messages
	minLeft  int   // it is given back when fewer bytes are left
	pending  int   // messages that are being fetched into it
	parent   *Op   // the receive into whose buffer this one fetches
	detached bool  // the buffer for many takes no more

	next *Op // spare
}

type state uint8

const (
	idle     state = iota // not begun, or done
	sending               // waits for resources, then sends
	offered               // the receiver has the envelope
	untaken               // the receiver has the bytes, and says when a receive took them
	posted                // waits for a message
	fetching              // the bytes are on their way, or wait for resources
)

// Done reports whether the operation has ended.
func (o *Op) Done() bool { return o.state == idle }

// finish ends the operation.
func (o *Op) finish(err error) {
	if o.copied {
		o.state, o.Err, o.buf = idle, err, nil
		o.ep.stack.recycle(o)
		return
	}
	o.end(err)
}

// end is finish of an operation of the caller's.
func (o *Op) end(err error) {
	o.state, o.Err, o.buf = idle, err, nil
	if o.OnDone != nil {
		o.OnDone(o)
	}
}

// newOp is an operation of the stack's own.
func (s *Stack) newOp() *Op {
	o := s.spareOps
	if o == nil {
		return &Op{}
	}
	s.spareOps = o.next
	o.next = nil
	return o
}

func (s *Stack) recycle(o *Op) {
	bytes := o.Bytes[:0]
	if o.copied {
		s.copies -= cap(bytes) + copyBytes
	}
	if cap(bytes) > spareBytes {
		bytes = nil
	}
	*o = Op{next: s.spareOps, Result: Result{Bytes: bytes}}
	s.spareOps = o
}
