package h2_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"score/scored/api/transport/h2"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// flow is a stream of a connection: what each side sends, and whether the other side reads it.
type flow struct {
	up, down               int64 // bytes
	serverReads, userReads bool
}

// arrived is how much of a flow has come.
type arrived struct{ up, down atomic.Int64 }

// pipeListener hands out the one end of a connection whose other end the client has.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (l *pipeListener) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	l.conns <- theirs
	return ours, nil
}

// counter counts what is written to it.
type counter struct{ n *atomic.Int64 }

func (c counter) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return len(b), nil
}

// window is what a server can send on a stream that nobody reads.
const window = 65535

// mustArrive reports which directions have to move. Go's server sends the window updates of a
// stream behind the data of that stream (net/http, http2serverConn.sendWindowUpdate), so an answer
// that nobody reads also stops the request. That is why scrun and the daemons go on receiving while
// they cannot hand on what comes.
func (f flow) mustArrive() (up, down bool) {
	return f.serverReads && (f.userReads || f.down < window), f.userReads
}

// Streams move by themselves: when nothing moves any more, all that has a reader has arrived,
// whatever else stands still on the same connection.
func TestStreamsMoveByThemselves(t *testing.T) {
	const maxSize = 300 << 10 // several windows of a stream
	flows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) flow {
		size := rapid.Int64Range(0, maxSize)
		return flow{size.Draw(t, "up"), size.Draw(t, "down"), rapid.Bool().Draw(t, "server reads"), rapid.Bool().Draw(t, "user reads")}
	}), 1, 6)
	rapid.Check(t, func(r *rapid.T) {
		drawn := flows.Draw(r, "flows")
		var missing error
		synctest.Test(t, func(t *testing.T) { missing = carry(t, drawn) })
		if missing != nil {
			r.Fatal(missing)
		}
	})
}

// carry sends all flows on one connection, and returns what has not arrived though it has a reader.
func carry(t *testing.T, flows []flow) error {
	listener := &pipeListener{make(chan net.Conn), make(chan struct{})}
	got := make([]arrived, len(flows))
	server := h2.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, _ := strconv.Atoi(r.URL.Path[1:])
		w.(http.Flusher).Flush() // the client has its answer before anything is read
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, _ = io.CopyN(w, endless{}, flows[i].down)
			w.(http.Flusher).Flush()
		}()
		if flows[i].serverReads {
			_, _ = io.Copy(counter{&got[i].up}, r.Body)
		}
		<-r.Context().Done()
		<-sent
	}))
	go func() { _ = server.Serve(listener) }()
	transport := h2.NewTransport(nil)
	transport.DialContext = listener.dial
	ctx, cancel := context.WithCancel(t.Context())
	for i, f := range flows {
		go func() {
			body := io.MultiReader(io.LimitReader(endless{}, f.up), until{ctx})
			request, _ := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://pipe/%d", i), body)
			answer, err := transport.RoundTrip(request)
			if err != nil {
				return
			}
			defer answer.Body.Close()
			if f.userReads {
				_, _ = io.Copy(counter{&got[i].down}, answer.Body)
			}
			<-ctx.Done()
		}()
	}
	synctest.Wait()
	var missing error
	for i, f := range flows {
		up, down := got[i].up.Load(), got[i].down.Load()
		upMust, downMust := f.mustArrive()
		if upMust && up != f.up || downMust && down != f.down {
			missing = fmt.Errorf("stream %d, %+v: %d bytes up and %d down have arrived", i, f, up, down)
		}
	}
	cancel()
	close(listener.done)
	transport.CloseIdleConnections()
	_ = server.Close()
	synctest.Wait()
	return missing
}

// until is a body that says no more until ctx ends.
type until struct{ context.Context }

func (u until) Read([]byte) (int, error) {
	<-u.Done()
	return 0, io.EOF
}
