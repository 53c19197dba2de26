package socket

import (
	"fmt"
	"net/http"
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
	// answerTimeout is how long a caller may take to take an answer that may be large. It is a
	// program of this host, or a daemon.
	answerTimeout = 30 * time.Second
)

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

// forget forgets the load of a party that has none; mu is held.
func (l *limits) forget(who any) {
	if has := l.loads[who]; has.calls == 0 && has.refusals == 0 {
		delete(l.loads, who)
	}
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
