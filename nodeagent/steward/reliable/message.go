package reliable

import (
	"cmp"
	"time"
)

// Peer is the steward of a node of a job.
type Peer struct {
	Job  uint64
	Node uint32
}

// Header is the part of a message besides its data.
type Header struct {
	// Stream is the sender's stream; a later one has a larger number.
	Stream uint64
	// Number counts the messages of the stream to this peer from 1; 0: there is no
	// message, only an acknowledgement.
	Number uint64
	// Least is the least number that may still come: all earlier messages have
	// arrived, or the sender has given them up.
	Least uint64
	// Ack acknowledges all messages of the peer's stream AckStream up to it.
	AckStream, Ack uint64
	// Pause asks the receiver to send only what cannot wait; see SetPause.
	Pause bool
}

// Message is a message that the caller must send to a peer.
type Message struct {
	To Peer
	Header
	// Kind is the kind of the message, for the sender's use.
	Kind Kind
	Data []byte
	// Repeated is set if the message was sent before and not acknowledged.
	Repeated bool
}

// Kind determines who reads a message.
type Kind uint8

// SendOptions are the options of Send.
type SendOptions struct {
	Kind Kind
	// RepeatAfter is the time to the first repetition of an unacknowledged message, at least
	// ackDelay; 0: the time after which an agent may have died with it.
	RepeatAfter time.Duration
	// Timeout is the time after which it counts as lost; 0: the constant Timeout.
	Timeout time.Duration
}

func comparePeers(x, y Peer) int {
	return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.Node, y.Node))
}
