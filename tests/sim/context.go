package sim

import (
	"encoding/binary"
	"score/channels/link"
	"score/flowctl"
)

// Payload is the content of a message: who sent it to whom, and which it is.
type Payload [16]byte

// Message is a decoded Payload.
type Message struct {
	Job, Channel, From, To uint16
	Index                  uint64 // counted from 0 per (job, channel, from, to)
}

// Payload encodes the message.
func (m Message) Payload() (p Payload) {
	le := binary.LittleEndian
	le.PutUint16(p[0:], m.Job)
	le.PutUint16(p[2:], m.Channel)
	le.PutUint16(p[4:], m.From)
	le.PutUint16(p[6:], m.To)
	le.PutUint64(p[8:], m.Index)
	return p
}

// Message decodes the payload.
func (p Payload) Message() Message {
	le := binary.LittleEndian
	return Message{
		Job: le.Uint16(p[0:]), Channel: le.Uint16(p[2:]),
		From: le.Uint16(p[4:]), To: le.Uint16(p[6:]), Index: le.Uint64(p[8:]),
	}
}

// Spec is what a context is made from.
type Spec struct {
	Job, Channel uint16
	Rank, Ranks  uint16
	SendCap      int // of the send buffer: messages per receiver, a power of two; with Drive granules
	InboxCap     int // of the inbox: messages; with Drive lines
	First        flowctl.Seq
	Flow         *flowctl.Config
	Drive        *DriveSpec // of a context of package drive; else nil
}

// Network takes frames. It copies them.
type Network interface {
	// Transmit sends a frame to rank to. wants says that the protocol expects an
	// answer to it.
	Transmit(to uint16, frame []byte, wants bool)
	// Lookup sends a question to the directory of the rank's node.
	Lookup(to uint16, frame []byte)
}

// Usage is how full the buffers of a context are.
type Usage struct {
	Send     int    // of Spec.SendCap, not acknowledged
	Inbox    int    // of Spec.InboxCap, not received by the process
	Ready    bool   // the process may find something to receive
	Accepted uint64 // messages, or frames, that ever entered the inbox
	InFlight int    // frames to the receiver that has most, not answered
	Fault    error  // a fault that the context itself noticed
}

// Context is the code under test: one rank's end of one channel. Calls that take
// now are made in the order of now; none is made while another runs.
type Context interface {
	// Send queues a message, or returns false if the send buffer is full.
	Send(now int64, to uint16, p Payload) bool
	// Receive returns the oldest message of the inbox.
	Receive(now int64) (Payload, bool)

	// Input takes a frame off the network, which may be damaged. from is where the
	// network means that it comes from.
	Input(now int64, from link.Address, frame []byte)
	// Output passes to the network what must be sent now.
	Output(now int64, net Network)
	// Deadline returns when Tick wants to be called (flowctl.NoDeadline: never).
	Deadline() int64
	Tick(now int64)

	// Flush stops sending; Flushed reports whether nothing to that rank is in flight.
	Flush(now int64)
	Flushed(to uint16) bool
	// Suspend makes the context not resident, Resume makes it send again.
	Suspend(now int64)
	Resume(now int64)

	// Restart replaces the driver: all that is not in the context's image is forgotten.
	Restart(now int64)
	// PeerDied reports a rank's death to the context. It returns false if the context cannot take
	// the report, or finds out by itself.
	PeerDied(now int64, rank uint16) bool
	// End ends the context's process. It returns false if nothing is left that could report that.
	End(now int64) bool
	// Leave means that its process closed its end: what it sent must still be delivered.
	Leave(now int64)

	// Lost reports whether the context counts rank to as gone or closed, and has reported that.
	Lost(to uint16) bool
	// Settled reports whether all messages sent to that rank are acknowledged.
	Settled(to uint16) bool
	Usage() Usage
	// Check checks, at the end, what can be checked only then.
	Check() error
	Close()
}
