package uplink

import (
	"context"
	"errors"
	"net"
	"score/scored/api/identity/pki"
	"slices"
)

// ErrRemoved is the error of Run when a server has said that the node's certificate was revoked,
// which nothing undoes.
var ErrRemoved = errors.New("this node was removed from the cluster, or its certificate was revoked")

// revoked asks the server that has turned the node away for the reason.
func (l *Link) revoked(ctx context.Context, server string) bool {
	return l.options.Revoked != nil && l.options.Revoked(ctx, server)
}

// waits are the ends of attempts that have nothing to do with who the node is.
var waits = []error{errSilent, errLate, errLater, errOther, errOld, errUnasked}

// rejected reports whether a server was reached and did not take the node, which may be for its
// certificate. How such a handshake ends for a client is not one error: the server closes the
// connection while the client, for whom the handshake was over, writes.
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
