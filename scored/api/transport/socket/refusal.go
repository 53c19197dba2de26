package socket

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"score/scored/api"
	"time"

	"connectrpc.com/connect"
)

const (
	// refusalTimeout is how long a caller may take to take the refusal of a call, and maxRefusals
	// bounds the refusals of a party under way: those of one connection. If there are more, the
	// connection ends.
	refusalTimeout = time.Second
	maxRefusals    = 128
)

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

func exhausted(format string, args ...any) error {
	return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf(format, args...))
}

func tooLarge() error {
	return exhausted("the request is larger than the %d MiB that any needs; was something else sent here?", api.MaxUserMessage>>20)
}
