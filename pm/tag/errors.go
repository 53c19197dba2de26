package tag

import "errors"

// Errors of operations. Those of packages uct and pm come through.
var (
	// ErrTruncated means that the message was longer than the buffer, which has its first part.
	ErrTruncated = errors.New("tag: the message is longer than the buffer")
	// ErrCanceled completes a receive that was canceled.
	ErrCanceled = errors.New("tag: canceled")
	// ErrBusy means that the operation is under way.
	ErrBusy = errors.New("tag: the operation is under way")
	// ErrMemory means that more copies of messages wait to be sent than Settings.SendBytes allows.
	ErrMemory = errors.New("tag: too many bytes wait to be sent; make progress and try again")
	// ErrUnread means that the receiver could not read the message, or has no memory for it any
	// more.
	ErrUnread = errors.New("tag: the receiver could not read the message")
	// ErrClosed means that the endpoint was closed.
	ErrClosed = errors.New("tag: the endpoint is closed")
	// ErrPort means that the port is taken, or beyond the last one.
	ErrPort = errors.New("tag: the port is taken, or beyond the last one")
)
