package pmix

import "score/nodeagent/pmi"

// Bounds on what clients can make the server keep.
const (
	// MaxMessage bounds one message in bytes: all that a rank may store, and some overhead.
	MaxMessage = pmi.MaxRankBytes + 1<<20
	// MaxPending bounds the bytes of incomplete messages, of all connections together.
	MaxPending = 64 << 20
	// MaxReplies bounds the bytes of the replies to one request. A request may cause replies to all
	// ranks of the node.
	MaxReplies = pmi.MaxJobBytes
	// MaxConns bounds the connections of a job beyond one per rank: those that are not yet
	// admitted.
	MaxConns = 64
	// MaxCleanups bounds the paths for removal that a job registers, per rank. maxPath bounds each
	// path in bytes, as the kernel does.
	MaxCleanups = 64
	maxPath     = 4096
	// maxPrint bounds a text for the user in bytes.
	maxPrint = 64 << 10
)
