package wire

import "score/nodeagent/pmi"

// Kind is the kind of an Effect.
type Kind uint8

const (
	// Reply: write Bytes to Rank. Bytes are valid until the next call of the
	// server.
	Reply Kind = iota + 1
	// FenceReady: exchange Bytes with the other nodes of the job under number Seq and give the data
	// of all nodes to FenceDone. Jobs of one node have no such effect. The caller may keep Bytes.
	FenceReady
	// NameOp: carry out Name on the name table and answer with NameResult.
	NameOp
	// SpawnRequest: start the job that Spawn describes for Rank, and answer with SpawnResult.
	SpawnRequest
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
	Seq     uint64
	Name    pmi.NameOp
	Spawn   *pmi.SpawnRequest
	Code    int
	Message string
	Err     error
}

// NoRank is the rank of a Violation that no rank of this node has caused.
const NoRank = -1
