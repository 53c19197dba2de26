package uplink

import (
	"context"
	"errors"
	"net"
	"score/scored/api/identity/pki"
	"slices"
)

// ErrRemoved is the error of Run when a server has said that the node's certificate was revoked,
// which is final.
var ErrRemoved = errors.New("this node was removed from the cluster, or its certificate was revoked")

// revoked asks the server that has refused the node whether its certificate was revoked.
func (l *Link) revoked(ctx context.Context, server string) bool {
	return l.options.Revoked != nil && l.options.Revoked(ctx, server)
}

// waits are the errors of attempts that have nothing to do with the node's identity.
var waits = []error{errSilent, errLate, errLater, errOther, errOld, errUnasked}

// rejected reports whether a server was reached and refused the node, perhaps for its certificate.
// Such a handshake can end with various errors for the client: the server closes the connection
// while the client, for which the handshake was over, writes.
func rejected(welcome bool, err error) bool {
	switch {
	case err == nil:
		return false
	case refusalOf(err) != nil:
		return true
	case welcome, pki.FaultOf(err) != pki.FaultNone:
		return false // it is the server's certificate that is not taken
	case slices.ContainsFunc(waits, func(wait error) bool { return errors.Is(err, wait) }):
		return false
	}
	failed, ok := errors.AsType[*net.OpError](err)
	return !ok || failed.Op != "dial"
}
