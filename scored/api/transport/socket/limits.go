package socket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"score/scored/api"
	"score/scored/api/scorev1"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	// bodyTimeout is how long a request may take to arrive. It comes from a program of this host,
	// or from a daemon that has all of it.
	bodyTimeout = 10 * time.Second

	// maxCallsOfUser bounds the calls under way: an attached scrun has two.
	maxCallsOfUser = 4096
	// maxBytesOfUser bounds the received bytes of their requests: a thousand submissions at once
	// with an environment of the usual size, or a few of the largest.
	maxBytesOfUser = 64 << 20
	// maxCallsOfAgent and maxBytesOfAgent bound all users of an agent's host together, and an agent
	// that invents users: four users at their bounds.
	maxCallsOfAgent = 4 * maxCallsOfUser
	maxBytesOfAgent = 4 * maxBytesOfUser

	// maxReadsOfUser bounds the calls of a user that are answered at once with what may be large: a
	// page of jobs, or a job with its command line and environment, some MiB, which the daemon keeps
	// until the caller has taken it. More calls wait for their turn, so that whoever takes no
	// answers delays only his own.
	maxReadsOfUser  = 16
	maxReadsOfAgent = 4 * maxReadsOfUser
	// maxTurnsOfUser bounds the other calls of a user that are handled at once; more wait for their turn.
	// The leader decides in the order of arrival, so another user's call waits for all that are being
	// handled. 16 are enough to share the commits.
	maxTurnsOfUser  = 16
	maxTurnsOfAgent = 4 * maxTurnsOfUser
	// turnTime bounds the turn of a call that may wait for something that is not the daemon's: the end
	// of a job, or what ranks write. A user can begin at least 1,600 of these per second.
	turnTime = 10 * time.Millisecond
	// answerTimeout is how long a caller may take to take such an answer. It is a program of this
	// host, or a daemon.
	answerTimeout = 30 * time.Second
	// refusalTimeout is how long a caller may take to take the refusal of a call, and maxRefusals
	// bounds the refusals of a party under way: those of one connection. If there are more, the
	// connection ends.
	refusalTimeout = time.Second
	maxRefusals    = 128
)

// Bounds are the bounds on the load that one party can cause.
type Bounds struct {
	// Whose returns the party that a request counts for, as a comparable value.
	Whose func(*http.Request) (any, error)
	// Calls under way, and Bytes of their requests.
	Calls int
	Bytes int64
	// Reads are the calls that are answered at the same time with what may be large, Turns the others
	// that are handled at the same time.
	Reads, Turns int
	// TooMany and TooLarge are the errors beyond them, with a formatting verb for the number of
	// calls, and of MiB.
	TooMany, TooLarge string
}

// OfUser returns the bounds of each user.
func OfUser(whose func(*http.Request) (any, error)) Bounds {
	return Bounds{
		Whose: whose, Calls: maxCallsOfUser, Bytes: maxBytesOfUser, Reads: maxReadsOfUser, Turns: maxTurnsOfUser,
		TooMany:  "%d of your calls are under way, and there can be no more; wait until some are over",
		TooLarge: "your requests that are under way take more than %d MiB; send fewer at once",
	}
}

// OfAgent returns the bounds of all users of an agent's host together.
func OfAgent(whose func(*http.Request) (any, error)) Bounds {
	return Bounds{
		Whose: whose, Calls: maxCallsOfAgent, Bytes: maxBytesOfAgent, Reads: maxReadsOfAgent, Turns: maxTurnsOfAgent,
		TooMany:  "%d calls by way of this host's agent are under way, and there can be no more; wait until some are over",
		TooLarge: "the requests by way of this host's agent that are under way take more than %d MiB; wait until some are over",
	}
}

// limits checks every call of a user before a byte of its request is read, and while it comes.
type limits struct {
	Bounds
	next    http.Handler
	streams map[string]bool // procedures whose requests are streams
	reads   map[string]bool // procedures that answer at once with what may be large
	waits   map[string]bool // procedures that may wait for something that is not the daemon's
	refuse  *connect.ErrorWriter
	// timeout is that of requests, taking that of answers.
	timeout, taking time.Duration

	mu    sync.Mutex
	loads map[any]*load // of those with calls under way
}

// load is the load of one party's calls.
type load struct {
	calls    int
	refusals int
	bytes    int64
	reads    chan struct{} // has an element for each that is answered
	turns    chan struct{} // has an element for each other call that has its turn
}

// NewLimits returns a handler that passes calls within the bounds to next, and refuses others.
func NewLimits(next http.Handler, bounds Bounds, options ...connect.HandlerOption) http.Handler {
	return newLimits(next, bounds, options...)
}

func newLimits(next http.Handler, bounds Bounds, options ...connect.HandlerOption) *limits {
	l := &limits{
		Bounds: bounds, next: next, streams: make(map[string]bool), reads: make(map[string]bool), waits: make(map[string]bool),
		refuse: connect.NewErrorWriter(options...), timeout: bodyTimeout, taking: answerTimeout, loads: make(map[any]*load),
	}
	services := scorev1.File_score_v1_user_proto.Services()
	for i := range services.Len() {
		methods := services.Get(i).Methods()
		for k := range methods.Len() {
			m := methods.Get(k)
			l.streams[procedureOf(m)] = m.IsStreamingClient()
			l.reads[procedureOf(m)] = reads(m)
			l.waits[procedureOf(m)] = waits(m)
		}
	}
	return l
}

// reads reports by its name whether a method only answers, and at once.
func reads(m protoreflect.MethodDescriptor) bool {
	for _, verb := range []string{"Get", "List", "Explain", "SwitchMetrics"} {
		if strings.HasPrefix(string(m.Name()), verb) {
			return !m.IsStreamingServer() && !m.IsStreamingClient()
		}
	}
	return false
}

// waits reports whether a method may wait for a program or for another daemon.
func waits(m protoreflect.MethodDescriptor) bool {
	return m.IsStreamingServer() || m.IsStreamingClient() || m.Name() == "WaitJob" || m.Name() == "ConfirmOutput"
}

func procedureOf(method protoreflect.MethodDescriptor) string {
	return fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
}

// ServeHTTP implements http.Handler.
func (l *limits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	who, err := l.Whose(r)
	if err != nil {
		_ = l.refuse.Write(w, r, connect.NewError(connect.CodeUnauthenticated, err)) // the caller may be gone
		return
	}
	has, err := l.enter(who, r.ContentLength)
	if err != nil {
		l.refuseCall(w, r, who, err)
		return
	}
	turn := l.turnOf(has, r.URL.Path)
	defer turn.end()
	body := &meteredBody{ReadCloser: r.Body, limits: l, who: who, ctx: r.Context(), turn: turn}
	defer func() { l.leave(who, body.size) }()
	if l.streams[r.URL.Path] {
		if turn.take(r.Context()) != nil {
			return // nobody waits for the answer
		}
	} else {
		body.controller = http.NewResponseController(w)
		_ = body.controller.SetReadDeadline(time.Now().Add(l.timeout)) // all connections of package net have them
		r.Body = body
	}
	if l.reads[r.URL.Path] {
		select {
		case has.reads <- struct{}{}:
			defer func() { <-has.reads }()
		case <-r.Context().Done():
			return // nobody waits for the answer
		}
		answer := &timedAnswer{ResponseWriter: w, timeout: l.taking}
		defer answer.end()
		w = answer
	}
	l.next.ServeHTTP(w, r)
	turn.end() // the caller may take its time
	if r.ProtoMajor >= 2 {
		// Otherwise the call would be over for this handler before the caller has taken the end of
		// the answer, and any number of such calls could wait.
		_ = http.NewResponseController(w).Flush() // the caller may be gone
	}
}

// turnOf returns the turn of a call.
func (l *limits) turnOf(has *load, procedure string) *turn {
	switch {
	case l.reads[procedure]:
		return &turn{} // those have turns of their own
	case l.waits[procedure]:
		return &turn{turns: has.turns, most: turnTime}
	}
	return &turn{turns: has.turns}
}

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

func exhausted(format string, args ...any) error {
	return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf(format, args...))
}

func tooLarge() error {
	return exhausted("the request is larger than the %d MiB that any needs; was something else sent here?", api.MaxUserMessage>>20)
}

// enter begins a call whose request has this length, or an unknown one if that is negative.
func (l *limits) enter(who any, length int64) (*load, error) {
	if length > api.MaxUserMessage {
		return nil, tooLarge()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	has := l.loadOf(who)
	if has.calls >= l.Calls {
		return nil, exhausted(l.TooMany, has.calls)
	}
	has.calls++
	return has, nil
}

// loadOf returns the load of a party; mu is held.
func (l *limits) loadOf(who any) *load {
	has := l.loads[who]
	if has == nil {
		has = &load{reads: make(chan struct{}, l.Reads), turns: make(chan struct{}, l.Turns)}
		l.loads[who] = has
	}
	return has
}

// refuseCall answers a call that has not begun. It ends the connection of a caller who takes no
// refusals.
func (l *limits) refuseCall(w http.ResponseWriter, r *http.Request, who any, err error) {
	if !l.enterRefusal(who) {
		disconnect(r)
	}
	defer l.leaveRefusal(who)
	if r.ProtoMajor >= 2 { // with HTTP/1 it would hold for the next call, too
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(refusalTimeout)) // as in ServeHTTP
	}
	_ = l.refuse.Write(w, r, err) // the caller may be gone
	if r.ProtoMajor >= 2 {
		_ = http.NewResponseController(w).Flush() // as in ServeHTTP
	}
}

func (l *limits) enterRefusal(who any) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	has := l.loadOf(who)
	if has.refusals >= maxRefusals {
		return false
	}
	has.refusals++
	return true
}

func (l *limits) leaveRefusal(who any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loads[who].refusals--
	l.forget(who)
}

// forget forgets the load of a party that has none; mu is held.
func (l *limits) forget(who any) {
	if has := l.loads[who]; has.calls == 0 && has.refusals == 0 {
		delete(l.loads, who)
	}
}

type connKey struct{}

// ConnContext lets limits end a connection. It is for http.Server.ConnContext.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// disconnect ends a call without an answer, and its connection if that is of a socket. Those of
// daemons have calls of many users. It does not return.
func disconnect(r *http.Request) {
	if conn, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		_ = conn.Close() // it may be closed already
	}
	panic(http.ErrAbortHandler)
}

// take counts received bytes of a request.
func (l *limits) take(who any, bytes int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	has := l.loads[who]
	has.bytes += bytes
	if has.bytes > l.Bytes {
		return exhausted(l.TooLarge, l.Bytes>>20)
	}
	return nil
}

func (l *limits) leave(who any, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	has := l.loads[who]
	has.calls--
	has.bytes -= bytes
	l.forget(who)
}

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
