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

// limitsReader returns the resource limits of the process that submits. It is nil if an older
// daemon, which does not read them, forwarded the call.
type limitsReader func() ([]*scorev1.ResourceLimit, error)

// limitsOfPeer reads the limits of the process at the other end of a Unix socket.
func limitsOfPeer(c syscall.Conn) limitsReader {
	return func() ([]*scorev1.ResourceLimit, error) {
		limits, err := socket.PeerLimits(c)
		if err != nil {
			return nil, connect.NewError(connect.CodeFailedPrecondition, err)
		}
		return limits, nil
	}
}

// limitsFromHeader returns the limits that a forwarding daemon has read.
func limitsFromHeader(h http.Header) limitsReader {
	values := h.Values(api.ForLimits)
	if len(values) == 0 {
		return nil
	}
	return func() ([]*scorev1.ResourceLimit, error) {
		limits, err := api.ParseLimits(values[0])
		if err != nil {
			return nil, connect.NewError(connect.CodeInvalidArgument, err)
		}
		return limits, nil
	}
}

// withOwnLimits returns the spec with the claimed limits, capped at those of the submitting
// process.
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

// limitsHeaderFor returns the header's value for a forwarded call; "": the call has no limits, or
// they are unknown.
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
