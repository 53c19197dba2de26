package uplink

import (
	"context"
	"errors"
	"net"
	"score/scored/api/identity/pki"
	"slices"
)

// ErrRemoved is the error of Run after a server has confirmed that the node's certificate was
// revoked, which is final.
var ErrRemoved = errors.New("this node was removed from the cluster, or its certificate was revoked")

// revoked asks the server that has refused the node whether its certificate was revoked.
func (l *Link) revoked(ctx context.Context, server string) bool {
	return l.options.Revoked != nil && l.options.Revoked(ctx, server)
}

// waits lists the errors of attempts that do not concern the node's identity.
var waits = []error{errSilent, errLate, errLater, errOther, errOld, errUnasked}

// rejected reports whether a server was reached and refused the node, perhaps for its certificate.
// The client can see various errors then: the server closes the connection after the client's
// handshake is complete, while the client writes.
func rejected(welcome bool, err error) bool {
	switch {
	case err == nil:
		return false
	case refusalOf(err) != nil:
		return true
	case welcome, pki.FaultOf(err) != pki.FaultNone:
		return false // the server's certificate is the invalid one
	case slices.ContainsFunc(waits, func(wait error) bool { return errors.Is(err, wait) }):
		return false
	}
	failed, ok := errors.AsType[*net.OpError](err)
	return !ok || failed.Op != "dial"
}
