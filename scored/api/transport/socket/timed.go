package socket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"score/scored/api"
	"time"

	"connectrpc.com/connect"
)

// timedAnswer is an answer that the caller must take in time.
type timedAnswer struct {
	http.ResponseWriter
	timeout time.Duration
	begun   bool
}

// Write implements http.ResponseWriter.
func (a *timedAnswer) Write(p []byte) (int, error) {
	if !a.begun {
		a.begun = true
		_ = a.controller().SetWriteDeadline(time.Now().Add(a.timeout)) // all connections of package net have them
	}
	return a.ResponseWriter.Write(p)
}

// end lets the next call on an HTTP/1 connection have its time.
func (a *timedAnswer) end() {
	if a.begun {
		_ = a.controller().SetWriteDeadline(time.Time{}) // as in Write
	}
}

func (a *timedAnswer) controller() *http.ResponseController {
	return http.NewResponseController(a.ResponseWriter)
}

// Unwrap lets http.ResponseController find the connection.
func (a *timedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// meteredBody counts a request while it comes, and ends it if it becomes too large or takes too
// long. A whole request waits for its turn; one that still comes takes none.
type meteredBody struct {
	io.ReadCloser
	limits     *limits
	controller *http.ResponseController
	who        any
	size       int64 // that was counted
	ctx        context.Context
	turn       *turn
}

// Read implements io.Reader. Its errors are for the caller.
func (b *meteredBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.size += int64(n)
	switch counted := b.limits.take(b.who, int64(n)); {
	case b.size > api.MaxUserMessage:
		return 0, tooLarge()
	case counted != nil:
		return 0, counted
	case errors.Is(err, os.ErrDeadlineExceeded):
		return 0, connect.NewError(connect.CodeDeadlineExceeded, fmt.Errorf("the request did not come within %v", b.limits.timeout))
	case err != nil:
		_ = b.controller.SetReadDeadline(time.Time{}) // the answer may take its time; see ServeHTTP
	}
	if errors.Is(err, io.EOF) {
		if gone := b.turn.take(b.ctx); gone != nil {
			return 0, gone
		}
	}
	return n, err
}
