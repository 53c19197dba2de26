package uplink

import (
	"errors"
	"fmt"
	"score/scored/api/identity/pki"
	"strings"

	"connectrpc.com/connect"
)

var (
	// ErrRefused means that the leader refuses this node for good; Run's error wraps it.
	ErrRefused = errors.New("the cluster refused this node")

	errSilent   = errors.New("the leader fell silent")
	errOverflow = errors.New("the leader does not read its messages")
	errLate     = errors.New("no server answered in time")
	errUnasked  = errors.New("the server sent an unexpected message")
	errOld      = errors.New("the server led earlier, and does not know its successor")
	errOther    = errors.New("another server leads")
	errLater    = errors.New("the leader fell silent, and another server leads")
)

// certificateTrouble returns a sentence for an error about certificates, "" for other errors.
func certificateTrouble(err error) string {
	switch {
	case err == nil:
		return ""
	case pki.FaultOf(err) != pki.FaultNone:
		return "the certificates do not fit"
	case strings.Contains(err.Error(), "remote error: tls:"): // crypto/tls does not export the alerts' type
		return "the server refuses this node's certificate; its log says why"
	default:
		return ""
	}
}

// refusalOf returns the error of Run for a permanent refusal.
func refusalOf(err error) error {
	if errors.Is(err, ErrRefused) {
		return err
	}
	switch connect.CodeOf(err) {
	case connect.CodeUnauthenticated, connect.CodePermissionDenied:
		return fmt.Errorf("%w: the cluster key differs; give every daemon the same key_file", ErrRefused)
	default:
		return nil
	}
}
