package uct

import (
	"errors"
	"score/pm"
)

// Errors of operations. Those of package pm come through: ErrPeerGone, ErrPeerClosed, ErrNode.
var (
	// ErrAgain means that resources are short now. The operation had no effect.
	ErrAgain = errors.New("uct: resources are short now; make progress and try again")
	// ErrKey means that the target has no region with the key.
	ErrKey = errors.New("uct: the target has no memory with this key")
	// ErrRange means that the operation reaches beyond the region.
	ErrRange = errors.New("uct: the operation reaches beyond the memory of the key")
	// ErrAccess means that the region does not allow the operation.
	ErrAccess = errors.New("uct: the memory of the key does not allow this operation")
	// ErrOperation means that the target does not know the atomic operation or its type.
	ErrOperation = errors.New("uct: no such atomic operation on this type")
	// ErrTooLong means that a message or an operation is longer than the interface's attributes
	// allow.
	ErrTooLong = errors.New("uct: longer than the interface's attributes allow")
	// ErrPeer means that the peer broke the protocol. Nothing more is exchanged with it.
	ErrPeer = errors.New("uct: the peer sent what the protocol does not allow")
	// ErrClosed means that the object was closed.
	ErrClosed = errors.New("uct: closed")
	// ErrKeyInUse means that a region with the key exists.
	ErrKeyInUse = errors.New("uct: a region of this process has the key already")
	// ErrUnknowable means that all memory cannot be registered, since the system does not say what
	// of it there is.
	ErrUnknowable = errors.New("uct: all memory can be registered from Linux 5.14 on")
	// ErrCanceled completes operations that were under way when their interface was closed.
	ErrCanceled = errors.New("uct: the interface was closed before the operation completed")
)

// status is an error as it travels to the peer.
type status uint8

const (
	statusOK status = iota
	statusKey
	statusRange
	statusAccess
	statusOperation
)

// err is the error of a status that came; an unknown one is the peer's mistake.
func (s status) err() error {
	switch s {
	case statusOK:
		return nil
	case statusKey:
		return ErrKey
	case statusRange:
		return ErrRange
	case statusAccess:
		return ErrAccess
	case statusOperation:
		return ErrOperation
	default:
		return ErrPeer
	}
}

// sendError translates what pm says of a message that was not sent.
func sendError(err error) error {
	switch {
	case err == pm.ErrFull: //nolint:errorlint // pm returns this very value
		return ErrAgain
	case errors.Is(err, pm.ErrTooLarge):
		return ErrTooLong
	default:
		return err
	}
}
