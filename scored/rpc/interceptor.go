package rpc

import (
	"context"
	"errors"
	"net/http"
	"score/scored/admission"
	"score/scored/api"
	"score/scored/api/scorev1/scorev1connect"
	"score/scored/leader"
	"score/scored/replica"
	"slices"

	"connectrpc.com/connect"
)

// interceptor handles every call: it authorizes users' calls, gives errors their codes, and counts
// them.
type interceptor struct {
	// callerOf returns a user's role; nil: the service is not for users.
	callerOf func(uid uint32, admin bool) leader.Caller
	// fresh, if not nil, returns once reads are no older than the call.
	fresh func(context.Context) error
	count func(procedure, code string)
	build string // of this server, for users whose program has another version
}

var _ connect.Interceptor = interceptor{}

func (g interceptor) enter(ctx context.Context, procedure string, header http.Header) (context.Context, error) {
	if refusal := api.CheckProtocols(header, g.build); refusal != "" && procedure != scorev1connect.ClusterServiceGetVersionProcedure {
		return ctx, connect.NewError(connect.CodeFailedPrecondition, errors.New(refusal))
	}
	if g.fresh != nil && procedure != scorev1connect.JobServiceSubmitProcedure { // a majority confirms a submission anyway
		if err := g.fresh(ctx); err != nil {
			return ctx, err
		}
	}
	if g.callerOf == nil {
		return ctx, nil
	}
	return authorize(ctx, procedure, g.callerOf)
}

func (g interceptor) leave(procedure string, err error) error {
	if err == nil {
		return nil
	}
	err = withCode(err)
	if g.count != nil {
		g.count(procedure, connect.CodeOf(err).String())
	}
	return err
}

// WrapUnary implements connect.Interceptor.
func (g interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		procedure := request.Spec().Procedure
		ctx, err := g.enter(ctx, procedure, request.Header())
		if err != nil {
			return nil, g.leave(procedure, err)
		}
		response, err := next(ctx, request)
		return response, g.leave(procedure, err)
	}
}

// WrapStreamingClient implements connect.Interceptor; servers do not need it.
func (g interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements connect.Interceptor.
func (g interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, stream connect.StreamingHandlerConn) error {
		procedure := stream.Spec().Procedure
		ctx, err := g.enter(ctx, procedure, stream.RequestHeader())
		if err == nil {
			err = next(ctx, stream)
		}
		return g.leave(procedure, err)
	}
}

// codes maps errors to the codes of refusals.
var codes = []struct {
	err  error
	code connect.Code
}{
	{leader.ErrInvalid, connect.CodeInvalidArgument},
	{admission.ErrNoAuthority, connect.CodeFailedPrecondition},
	{admission.ErrTaken, connect.CodeFailedPrecondition},
	{leader.ErrNoJob, connect.CodeNotFound},
	{leader.ErrState, connect.CodeFailedPrecondition},
	{leader.ErrImpossible, connect.CodeResourceExhausted},
	{leader.ErrDenied, connect.CodePermissionDenied},
	{leader.ErrLost, connect.CodeUnavailable},
	{leader.ErrNoLeader, connect.CodeUnavailable},
	{leader.ErrStopped, connect.CodeUnavailable},
	{leader.ErrStarting, connect.CodeUnavailable},
	{leader.ErrAttached, connect.CodeUnavailable},
	{leader.ErrElsewhere, connect.CodeUnavailable},
	{replica.ErrNotLeader, connect.CodeUnavailable},
	{replica.ErrOutcome, connect.CodeUnavailable},
	{replica.ErrBusy, connect.CodeUnavailable},
	{replica.ErrClosed, connect.CodeUnavailable},
	{replica.ErrUnchanged, connect.CodeFailedPrecondition},
	{replica.ErrUnknownServer, connect.CodeNotFound},
	{replica.ErrServers, connect.CodeFailedPrecondition},
	{context.Canceled, connect.CodeCanceled},
	{context.DeadlineExceeded, connect.CodeDeadlineExceeded},
}

// nothingDone lists the errors of calls that had no effect and can be repeated.
var nothingDone = []error{leader.ErrNoLeader, leader.ErrElsewhere, leader.ErrStarting, replica.ErrNotLeader}

// isUnchanged reports whether the call had no effect. A call that the server had begun to carry out
// when it lost its leadership may have been committed.
func isUnchanged(err error) bool {
	return !errors.Is(err, leader.ErrLost) && slices.ContainsFunc(nothingDone, func(reason error) bool { return errors.Is(err, reason) })
}

// Unchanged reports whether a call had no effect, by an error of this server or of another one.
func Unchanged(err error) bool {
	if refused, ok := errors.AsType[*connect.Error](err); ok {
		return refused.Meta().Get(api.Unchanged) != ""
	}
	return isUnchanged(err)
}

// withCode turns an error into a connect error with a code, if it is none yet.
func withCode(err error) error {
	if _, ok := errors.AsType[*connect.Error](err); ok {
		return err
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			coded := connect.NewError(c.code, sentence(err, c.err))
			if isUnchanged(err) {
				coded.Meta().Set(api.Unchanged, api.Yes)
			}
			return coded
		}
	}
	return connect.NewError(connect.CodeInternal, err)
}

// sentence removes the sentinel's text from the start of the error: the rest says the same in more
// detail.
func sentence(err, sentinel error) error {
	text, prefix := err.Error(), sentinel.Error()+": "
	if len(text) > len(prefix) && text[:len(prefix)] == prefix {
		return errors.New(text[len(prefix):])
	}
	return err
}
