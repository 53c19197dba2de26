package client

import (
	"context"
	"errors"
	"path"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"
)

const (
	// againFor is how long a call that nobody could decide is made again: two elections, and short for a
	// person at a terminal.
	againFor = 6 * time.Second
	// againPause is the time between two tries.
	againPause = 100 * time.Millisecond
	// unchanged marks errors of calls that have done nothing (package rpc sets it).
	unchanged = "Score-Unchanged"
)

// again makes calls anew that another server has to decide, or that only look and whose server was lost, so that
// people do not notice when servers come and go. Calls that may have changed something are made once.
func again(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		var limit time.Time
		for {
			response, err := next(ctx, request)
			if err == nil || !mayRepeat(err, request.Spec().Procedure) {
				return response, err
			}
			if limit.IsZero() {
				limit = time.Now().Add(againFor)
			}
			if time.Now().After(limit) {
				return nil, err
			}
			select {
			case <-time.After(againPause):
			case <-ctx.Done():
				return nil, err
			}
		}
	}
}

// mayRepeat tells whether making the call again does no harm and can help.
func mayRepeat(err error, procedure string) bool {
	failure, ok := errors.AsType[*connect.Error](err)
	if !ok || failure.Code() != connect.CodeUnavailable {
		return false
	}
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) {
		return false // there is no daemon
	}
	return failure.Meta().Get(unchanged) != "" || looks(path.Base(procedure))
}

// looks tells whether a method changes nothing, or nothing more when it is called twice.
func looks(method string) bool {
	for _, prefix := range []string{"List", "Get", "Explain", "Wait", "SwitchMetrics", "ConfirmOutput"} {
		if strings.HasPrefix(method, prefix) {
			return true
		}
	}
	return false
}
