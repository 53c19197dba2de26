package rpc

import (
	"context"
	"net/http"
	"score/scored/api"
	"score/scored/api/scorev1"
	"score/scored/api/transport/socket"
	"syscall"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
)

// limitsReader finds the resource limits of the process that submits. It is nil
// where an older daemon that does not read them has passed the call on.
type limitsReader func() ([]*scorev1.ResourceLimit, error)

// limitsOfPeer reads them from the process at the other end of a Unix socket.
func limitsOfPeer(c syscall.Conn) limitsReader {
	return func() ([]*scorev1.ResourceLimit, error) {
		limits, err := socket.PeerLimits(c)
		if err != nil {
			return nil, connect.NewError(connect.CodeFailedPrecondition, err)
		}
		return limits, nil
	}
}

// limitsFromHeader takes them from a daemon that has read them.
func limitsFromHeader(h http.Header) limitsReader {
	said := h.Values(api.ForLimits)
	if len(said) == 0 {
		return nil
	}
	return func() ([]*scorev1.ResourceLimit, error) {
		limits, err := api.ParseLimits(said[0])
		if err != nil {
			return nil, connect.NewError(connect.CodeInvalidArgument, err)
		}
		return limits, nil
	}
}

// withOwnLimits is the spec with the limits that the submitter claims, and no
// more than it has.
func withOwnLimits(ctx context.Context, spec *scorev1.JobSpec) (*scorev1.JobSpec, error) {
	known, _ := ctx.Value(identityKey{}).(connIdentity)
	if known.limits == nil {
		return spec, nil
	}
	has, err := known.limits()
	if err != nil {
		return nil, err
	}
	bound := proto.CloneOf(spec)
	bound.Limits = api.BoundLimits(spec.GetLimits(), has)
	return bound, nil
}

// limitsHeaderFor is the value of the header for a call that is passed on; "": the
// call takes no limits, or nobody knows them.
func limitsHeaderFor(r *http.Request) (string, error) {
	known, _ := r.Context().Value(identityKey{}).(connIdentity)
	if known.limits == nil || !api.TakesLimits(r.URL.Path) {
		return "", nil
	}
	limits, err := known.limits()
	if err != nil {
		return "", err
	}
	return api.FormatLimits(limits), nil
}
