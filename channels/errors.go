package channels

import "errors"

// Errors of the package. Those of a damaged or foreign image are in package abi.
var (
	// ErrFull: the receiver's inbox or the send buffer has no space now. Nothing
	// was sent; the same call succeeds once the receiver has taken messages out.
	ErrFull = errors.New("channels: no space now, try again after receiving")
	// ErrTooLarge: longer than the longest message of the channel.
	ErrTooLarge = errors.New("channels: message longer than the channel allows")
	// ErrGone: the receiver's process died.
	ErrGone = errors.New("channels: the receiver died")
	// ErrClosed: the receiver closed the channel.
	ErrClosed = errors.New("channels: the receiver closed the channel")
	// ErrFlow: the receiver's end of the channel uses another flow control.
	ErrFlow = errors.New("channels: the receiver uses another flow control")
	// ErrRank: not a rank of the job, or not one of this node.
	ErrRank = errors.New("channels: no such rank on this node")
	// ErrRevoked: the agent has the driver lock, or is about to take it.
	ErrRevoked = errors.New("channels: the node's agent drives this context now")
	// ErrHeld: another thread of the process has the driver lock.
	ErrHeld = errors.New("channels: the driver lock is held")
	// ErrHolder: whoever holds the driver lock did not let go in time.
	ErrHolder = errors.New("channels: the holder of the driver lock does not let go")
	// ErrOwned: another process that lives has the channel open.
	ErrOwned = errors.New("channels: another process uses this context")
	// ErrMemory: the system has no memory for a part of the image that is used for
	// the first time.
	ErrMemory = errors.New("channels: no memory for this part of the context")
	// ErrSeals: the memory can still be made smaller by whoever has it.
	ErrSeals = errors.New("channels: this memory is not sealed against shrinking")
	// ErrDamaged: the image's words are impossible.
	ErrDamaged = errors.New("channels: damaged context image")
	// ErrNotReserved: Commit without Reserve.
	ErrNotReserved = errors.New("channels: nothing is reserved")
)
