package pmix

import "score/nodeagent/pmi"

// Bounds on what clients can make the server keep.
const (
	// MaxMessage bounds one message in bytes: a rank's whole share of the store
	// and some words about it.
	MaxMessage = pmi.MaxRankBytes + 1<<20
	// MaxPending bounds the bytes of messages that have not come whole, of all
	// connections together.
	MaxPending = 64 << 20
	// MaxReplies bounds the bytes of the replies to one request, which may answer
	// all ranks of the node.
	MaxReplies = pmi.MaxJobBytes
	// MaxConns bounds the connections of a job beyond one per rank: those that have
	// not said yet who they are.
	MaxConns = 64
	// MaxCleanups bounds the paths that a job registers for removal, as a number
	// per rank, and maxPath each of them in bytes, as the kernel does.
	MaxCleanups = 64
	maxPath     = 4096
	// maxPrint bounds a text for the user in bytes.
	maxPrint = 64 << 10
)
