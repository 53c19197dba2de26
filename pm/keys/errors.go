package keys

import (
	"errors"
	"score/channels/keys"
)

// Errors of the package.
var (
	// ErrEnvironment: the process was not started as a rank that may speak with its steward.
	ErrEnvironment = errors.New("keys: not a rank of a job")
	// ErrTooLong: a key has no byte or more than 511, or a value more than 16 MiB.
	ErrTooLong = keys.ErrTooLong
	// ErrLost: the steward does not answer any more; the job is ending.
	ErrLost = errors.New("keys: the job's steward does not answer")
	// ErrNoFence: a node was lost and the job goes on without it, so there are no more fences.
	ErrNoFence = errors.New("keys: no fence of all ranks is possible")
	// ErrClosed: Close was called, or a wait was cancelled.
	ErrClosed = errors.New("keys: closed")
)
