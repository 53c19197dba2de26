package rpc

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"

	"score/scored/api/scorev1"
)

// Bounds of what one user can keep a server busy with; others have their own.
const (
	// maxCallsOfUser bounds the calls under way: an attached scrun has two.
	maxCallsOfUser = 4096
	// maxBytesOfUser bounds what has come of their requests: a thousand submissions at once with an environment of the
	// usual size, and some of the largest.
	maxBytesOfUser = 64 << 20
	// bodyTimeout is how long a request may take to come, which is sent by a program of this host.
	bodyTimeout = 10 * time.Second
)

// limits stand before every call of a user: before a byte of its request is read, and while it comes.
type limits struct {
	next    http.Handler
	streams map[string]bool // procedures whose requests come bit by bit
	refuse  *connect.ErrorWriter
	timeout time.Duration

	mu    sync.Mutex
	loads map[uint32]*load // of users with calls under way
}

// load is what a user's calls take.
type load struct {
	calls int
	bytes int64
}

func newLimits(next http.Handler, options ...connect.HandlerOption) *limits {
	l := &limits{
		next: next, streams: make(map[string]bool), refuse: connect.NewErrorWriter(options...), timeout: bodyTimeout,
		loads: make(map[uint32]*load),
	}
	services := scorev1.File_score_v1_user_proto.Services()
	for i := range services.Len() {
		methods := services.Get(i).Methods()
		for k := range methods.Len() {
			l.streams[procedureOf(methods.Get(k))] = methods.Get(k).IsStreamingClient()
		}
	}
	return l
}

func procedureOf(method protoreflect.MethodDescriptor) string {
	return fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
}

// ServeHTTP implements http.Handler.
func (l *limits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	identity, err := identityOf(r.Context())
	if err != nil {
		_ = l.refuse.Write(w, r, connect.NewError(connect.CodeUnauthenticated, err)) // who is told may be gone
		return
	}
	uid := identity.GetUid()
	if err := l.enter(uid, r.ContentLength); err != nil {
		_ = l.refuse.Write(w, r, err) // as above
		return
	}
	body := &meteredBody{ReadCloser: r.Body, limits: l, uid: uid}
	defer func() { l.leave(uid, body.size) }()
	if !l.streams[r.URL.Path] {
		body.controller = http.NewResponseController(w)
		_ = body.controller.SetReadDeadline(time.Now().Add(l.timeout)) // all connections of package net have them
		r.Body = body
	}
	l.next.ServeHTTP(w, r)
}

func exhausted(format string, args ...any) error {
	return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf(format, args...))
}

func tooLarge() error {
	return exhausted("the request is larger than the %d MiB that any needs; was something else sent here?", maxUserMessage>>20)
}

// enter begins a call whose request has this length, or an unknown one if that is negative.
func (l *limits) enter(uid uint32, length int64) error {
	if length > maxUserMessage {
		return tooLarge()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	has := l.loads[uid]
	if has == nil {
		has = new(load)
		l.loads[uid] = has
	}
	if has.calls >= maxCallsOfUser {
		return exhausted("%d of your calls are under way, and there can be no more; wait until some are over", has.calls)
	}
	has.calls++
	return nil
}

// take counts what has come of a request.
func (l *limits) take(uid uint32, bytes int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	has := l.loads[uid]
	has.bytes += bytes
	if has.bytes > maxBytesOfUser {
		return exhausted("your requests that are under way take more than %d MiB; send fewer at once", maxBytesOfUser>>20)
	}
	return nil
}

func (l *limits) leave(uid uint32, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	has := l.loads[uid]
	has.calls--
	has.bytes -= bytes
	if has.calls == 0 {
		delete(l.loads, uid)
	}
}

// meteredBody counts a request while it comes, and ends it where it becomes too much or takes too long.
type meteredBody struct {
	io.ReadCloser
	limits     *limits
	controller *http.ResponseController
	uid        uint32
	size       int64 // that was counted
}

// Read implements io.Reader. The errors are those that the caller is told.
func (b *meteredBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.size += int64(n)
	switch counted := b.limits.take(b.uid, int64(n)); {
	case b.size > maxUserMessage:
		return 0, tooLarge()
	case counted != nil:
		return 0, counted
	case errors.Is(err, os.ErrDeadlineExceeded):
		return 0, connect.NewError(connect.CodeDeadlineExceeded, fmt.Errorf("the request did not come within %v", b.limits.timeout))
	case err != nil:
		_ = b.controller.SetReadDeadline(time.Time{}) // the answer may take its time; see ServeHTTP
	}
	return n, err
}
