package wire

import "score/nodeagent/pmi"

// Kind is the kind of an Effect.
type Kind uint8

const (
	// Reply: write Bytes to Rank. Bytes are valid until the next call of the
	// server.
	Reply Kind = iota + 1
	// Event: carry out Event, an event of the engine: EventFenceReady, EventNameOp or EventSpawn.
	// The caller may keep it.
	Event
	// Abort: Rank ends the job with exit code Code, for the reason Message,
	// which may be empty. It gets no reply.
	Abort
	// Contact: Rank has spoken for the first time.
	Contact
	// Respawn: Rank asks to be started again Code times when it fails.
	Respawn
	// Finalized: Rank has finished with PMI and may close its connection.
	Finalized
	// Join: write Bytes to Rank, together with the descriptor of the node's store of keys.
	// Engine.PublishTo was called with that store.
	Join
	// Violation: Rank broke the protocol or, if Rank is NoRank, the data of a fence was wrong. Err
	// is the sentence for the user. The job must end: a client that is refused usually hangs.
	Violation
)

// Effect is a task for the caller. Only the fields that its kind mentions are set.
type Effect struct {
	Kind    Kind
	Rank    int
	Bytes   []byte
	Event   *pmi.Event
	Code    int
	Message string
	Err     error
}

// NoRank is the rank of a Violation that no rank of this node has caused.
const NoRank = -1
