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

// interceptor stands before every method: it authorizes (if it is for users), gives
// errors their codes, and counts them.
type interceptor struct {
	// callerOf tells the role of a user; nil: no users call.
	callerOf func(uid uint32, admin bool) leader.Caller
	// fresh, if not nil, returns when what is read from then on is no older than the call.
	fresh func(context.Context) error
	count func(procedure, code string)
	build string // of this server, for users whose program is of another version
}

var _ connect.Interceptor = interceptor{}

func (g interceptor) enter(ctx context.Context, procedure string, header http.Header) (context.Context, error) {
	if refusal := api.CheckProtocols(header, g.build); refusal != "" && procedure != scorev1connect.ClusterServiceGetVersionProcedure {
		return ctx, connect.NewError(connect.CodeFailedPrecondition, errors.New(refusal))
	}
	if g.fresh != nil && procedure != scorev1connect.JobServiceSubmitProcedure { // whose answer a majority has agreed to anyway
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

// codes gives each reason for a refusal its code.
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

// nothingDone are the reasons of refusals that end by themselves.
var nothingDone = []error{leader.ErrNoLeader, leader.ErrElsewhere, replica.ErrNotLeader}

// isUnchanged reports whether nothing was done. What a server had taken up when it found out that
// it leads no more may have been committed.
func isUnchanged(err error) bool {
	return !errors.Is(err, leader.ErrLost) && slices.ContainsFunc(nothingDone, func(reason error) bool { return errors.Is(err, reason) })
}

// withCode makes a connect error of an error that is none.
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

// sentence drops the sentinel's words before the sentence that wraps it, which
// says the same with more detail.
func sentence(err, sentinel error) error {
	text, prefix := err.Error(), sentinel.Error()+": "
	if len(text) > len(prefix) && text[:len(prefix)] == prefix {
		return errors.New(text[len(prefix):])
	}
	return err
}
