package socket

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"score/scored/api/scorev1/scorev1connect"
	"score/scored/api/transport/h2"
	"score/tests/await"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// pings returns the beginning of an HTTP/2 connection with so many pings.
func pings(n int) []byte {
	const settings, ping = 4, 6
	out := appendFrame([]byte(clientPreface), settings, 0)
	for range n {
		out = appendFrame(out, ping, 8)
	}
	return out
}

// narrow accepts connections on which the kernel keeps few answers.
type narrow struct{ net.Listener }

func (n narrow) Accept() (net.Conn, error) {
	conn, err := n.Listener.Accept()
	if err == nil {
		err = conn.(*net.UnixConn).SetWriteBuffer(1)
	}
	return conn, err
}

// Whoever sends pings on many connections, and reads no answers, loses connections before the
// daemon has many answers to keep. Connections on which nothing waits do not count.
func TestAnswersThatNobodyReads(t *testing.T) {
	// net/http ends a connection on which 10,000 answers wait.
	const each, conns = 9000, 40
	path := filepath.Join(t.TempDir(), "s")
	listener, err := Listen("socket", path, Everybody)
	if err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.WarnLevel)
	limiter := NewConnLimiter(narrow{listener}, MaxConnections, zap.New(core))
	limiter.maxUnanswered = 1 << 20
	server := h2.NewSocketServer(http.NotFoundHandler())
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(limiter) }) // ends with Close
	defer serving.Wait()
	defer server.Close()
	flood := pings(each)
	for range conns {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		if _, err := conn.Write(flood); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("the daemon neither reads nor ends a connection")
		}
	}
	await.That(t, "a connection is ended", func() bool { return logs.FilterMessageSnippet("do not read the answers").Len() > 0 })
}

// What a client sends as data does not count, nor what the daemon has answered, however much it is.
func TestAnsweredCallsDoNotCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := Listen("socket", path, Everybody)
	if err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.WarnLevel)
	limiter := NewConnLimiter(listener, 1, zap.New(core))
	limiter.maxUnanswered = 64 << 10
	server := h2.NewSocketServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(limiter) }) // ends with Close
	defer serving.Wait()
	defer server.Close()
	client := &http.Transport{
		Protocols:   new(http.Protocols),
		DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", path) },
	}
	client.Protocols.SetUnencryptedHTTP2(true)
	defer client.CloseIdleConnections()
	const calls, long = 400, 64 << 20
	for i := range calls {
		length := 100
		if i == 0 {
			length = long
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://socket/x", &zeros{left: int64(length)})
		if err != nil {
			t.Fatal(err)
		}
		reply, err := client.RoundTrip(r)
		if err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		n, err := io.Copy(io.Discard, reply.Body)
		reply.Body.Close()
		if err != nil || n != int64(length) {
			t.Fatalf("call %d: %d bytes of %d, %v", i, n, length, err)
		}
	}
	if logs.Len() > 0 {
		t.Errorf("logged: %v", logs.All())
	}
}

// untakenRefusal is an answer that nobody takes.
type untakenRefusal struct {
	*httptest.ResponseRecorder
	begun *sync.WaitGroup
	end   chan struct{}
}

func (u *untakenRefusal) Write(p []byte) (int, error) {
	u.begun.Done()
	<-u.end
	return len(p), nil
}

// Refusals that nobody takes are bounded: who has too many of them loses the connection.
func TestUntakenRefusals(t *testing.T) {
	bounds := OfUser(byHeader)
	bounds.Calls = 0
	l := newLimits(http.NotFoundHandler(), bounds)
	refuse := func(w http.ResponseWriter, conn net.Conn) (aborted bool) {
		r := httptest.NewRequestWithContext(ConnContext(context.Background(), conn), http.MethodPost, scorev1connect.JobServiceSubmitProcedure, nil)
		r.Header.Set("uid", "7")
		r.Header.Set("Content-Type", "application/proto")
		defer func() {
			err, _ := recover().(error)
			aborted = errors.Is(err, http.ErrAbortHandler)
		}()
		l.ServeHTTP(w, r)
		return false
	}
	var begun, calls sync.WaitGroup
	end := make(chan struct{})
	begun.Add(maxRefusals)
	for range maxRefusals {
		calls.Go(func() { refuse(&untakenRefusal{httptest.NewRecorder(), &begun, end}, nil) })
	}
	begun.Wait()
	mine, peer := net.Pipe()
	defer peer.Close()
	w := httptest.NewRecorder()
	if !refuse(w, mine) || w.Body.Len() > 0 {
		t.Errorf("one more is answered: %s", w.Body)
	}
	if _, err := peer.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection: %v", err)
	}
	close(end)
	calls.Wait()
	if w := httptest.NewRecorder(); refuse(w, nil) || !strings.Contains(w.Body.String(), "calls are under way") {
		t.Errorf("afterwards: %s", w.Body)
	}
	if len(l.loads) != 0 {
		t.Errorf("left: %v", l.loads)
	}
}
