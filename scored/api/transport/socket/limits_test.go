package socket

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"score/scored/api"
	"score/scored/api/scorev1/scorev1connect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// zeros is a body of zeros that counts the bytes left and read.
type zeros struct{ left, read int64 }

func (z *zeros) Read(p []byte) (int, error) {
	n := min(int64(len(p)), z.left)
	if n == 0 {
		return 0, io.EOF
	}
	z.left -= n
	z.read += n
	return int(n), nil
}

// call makes a call of a user with a body; length is what the request says of it.
func call(l *limits, uid uint32, body io.Reader, length int64) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, scorev1connect.JobServiceSubmitProcedure, body)
	r.ContentLength = length
	r.Header.Set("uid", fmt.Sprint(uid))
	r.Header.Set("Content-Type", "application/proto")
	w := httptest.NewRecorder()
	l.ServeHTTP(w, r)
	return w
}

func byHeader(r *http.Request) (any, error) { return r.Header.Get("uid"), nil }

// readAll reads the request, tells its error as connect does, and then waits.
func readAll(l **limits, wait func()) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			_ = (*l).refuse.Write(w, r, err)
			return
		}
		wait()
	})
}

// Requests that are too large are refused before they are read, or as soon as they are too large.
func TestLargeRequests(t *testing.T) {
	var l *limits
	l = newLimits(readAll(&l, func() {}), OfUser(byHeader))
	const size = 100 << 20
	for _, length := range []int64{size, -1} {
		body := &zeros{left: size}
		w := call(l, 7, body, length)
		if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), "larger than the 8 MiB") {
			t.Errorf("length %d: %d %s", length, w.Code, w.Body)
		}
		if length > 0 && body.read > 0 || body.read > api.MaxUserMessage+1<<20 {
			t.Errorf("length %d: %d bytes were read", length, body.read)
		}
	}
	if w := call(l, 7, &zeros{left: api.MaxUserMessage}, api.MaxUserMessage); w.Code != http.StatusOK {
		t.Errorf("the largest: %d %s", w.Code, w.Body)
	}
	if len(l.loads) != 0 {
		t.Errorf("left: %v", l.loads)
	}
}

// What one user's requests take is bounded, in number and bytes, and others are let in beside them.
func TestCallsUnderWay(t *testing.T) {
	for name, c := range map[string]struct {
		calls int
		size  int64
		want  string
	}{
		"many":  {maxCallsOfUser, 1, "4096 of your calls are under way"},
		"large": {maxBytesOfUser / api.MaxUserMessage, api.MaxUserMessage, "more than 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			var l *limits
			var calls, begun sync.WaitGroup
			end := make(chan struct{})
			bounds := OfUser(byHeader)
			bounds.Turns = c.calls // all are handled at once
			l = newLimits(readAll(&l, func() { begun.Done(); <-end }), bounds)
			begun.Add(c.calls)
			for range c.calls {
				calls.Go(func() { call(l, 7, &zeros{left: c.size}, c.size) })
			}
			begun.Wait()
			if w := call(l, 7, &zeros{left: c.size}, c.size); w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("one more: %d %s", w.Code, w.Body)
			}
			close(end)
			begun.Add(2)
			if w := call(l, 8, &zeros{left: c.size}, c.size); w.Code != http.StatusOK {
				t.Errorf("another user's: %d %s", w.Code, w.Body)
			}
			calls.Wait()
			if w := call(l, 7, &zeros{left: c.size}, c.size); w.Code != http.StatusOK {
				t.Errorf("afterwards: %d %s", w.Code, w.Body)
			}
			if len(l.loads) != 0 {
				t.Errorf("left: %v", l.loads)
			}
		})
	}
}

// read makes a call of a user that only reads.
func read(l http.Handler, uid uint32) {
	r := httptest.NewRequest(http.MethodPost, scorev1connect.JobServiceGetJobProcedure, nil)
	r.Header.Set("uid", fmt.Sprint(uid))
	l.ServeHTTP(httptest.NewRecorder(), r)
}

// Of the calls that may have large answers few of a user are answered at the same time. Others'
// calls, and other calls of the user, do not wait for them.
func TestReadsTakeTurns(t *testing.T) {
	const more = 3
	var begun sync.WaitGroup
	var answering, most atomic.Int64
	end := make(chan struct{})
	l := newLimits(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("uid") != "7" || r.URL.Path != scorev1connect.JobServiceGetJobProcedure {
			return
		}
		now := answering.Add(1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		if now <= maxReadsOfUser {
			begun.Done()
		}
		<-end
		answering.Add(-1)
	}), OfUser(byHeader))
	var calls sync.WaitGroup
	begun.Add(maxReadsOfUser)
	for range maxReadsOfUser {
		calls.Go(func() { read(l, 7) })
	}
	begun.Wait()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(gone, http.MethodPost, scorev1connect.JobServiceGetJobProcedure, nil)
	r.Header.Set("uid", "7")
	l.ServeHTTP(httptest.NewRecorder(), r) // nobody waits for its answer
	read(l, 8)
	call(l, 7, strings.NewReader(""), 0)
	begun.Add(more)
	for range more {
		calls.Go(func() { read(l, 7) })
	}
	close(end)
	calls.Wait()
	if most.Load() != maxReadsOfUser || len(l.loads) != 0 {
		t.Errorf("%d calls were answered at once; left: %v", most.Load(), l.loads)
	}
}

// serveAt serves a handler at a socket, and returns a client that speaks one version of HTTP and
// takes of an answer what fits into the smallest window.
func serveAt(t *testing.T, handler http.Handler, version string) *http.Transport {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	listener, err := Listen("socket", path, Everybody)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // ends with Close
	t.Cleanup(serving.Wait)
	t.Cleanup(func() { server.Close() })
	client := &http.Transport{Protocols: new(http.Protocols), DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", path)
	}}
	client.Protocols.SetHTTP1(version == "HTTP/1.1")
	client.Protocols.SetUnencryptedHTTP2(version == "HTTP/2")
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// begin makes a call of user 7 and returns when the answer begins, or when the server ends it.
func begin(t *testing.T, client *http.Transport, procedure string) io.Closer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://socket"+procedure, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("uid", "7")
	reply, err := client.RoundTrip(r)
	if err != nil {
		return http.NoBody
	}
	return reply.Body
}

// Whoever does not take an answer loses it, and the daemon does not keep it.
func TestAnswersThatNobodyTakes(t *testing.T) {
	for _, version := range []string{"HTTP/1.1", "HTTP/2"} {
		t.Run(version, func(t *testing.T) {
			wrote := make(chan error, 1)
			l := newLimits(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, err := w.Write(make([]byte, 64<<20)) // more than any buffer takes
				wrote <- err
			}), OfUser(byHeader))
			l.taking = time.Millisecond
			defer begin(t, serveAt(t, l, version), scorev1connect.JobServiceGetJobProcedure).Close()
			select {
			case err := <-wrote:
				if err == nil {
					t.Error("all was taken")
				}
			case <-time.After(patience):
				t.Fatal("the daemon keeps the answer")
			}
		})
	}
}

// A call counts until its answer has been taken, also the end that net/http writes after the
// handler.
func TestUntakenEndsCount(t *testing.T) {
	const window = 64 << 10
	returned := make(chan struct{}, 1)
	bounds := OfUser(byHeader)
	bounds.Calls = 1
	l := newLimits(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, window)) // it fits
		_, _ = w.Write([]byte("the end"))    // it stays in a buffer of net/http
		returned <- struct{}{}
	}), bounds)
	client := serveAt(t, l, "HTTP/2")
	client.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: window}
	body := begin(t, client, scorev1connect.JobServiceSubmitProcedure)
	<-returned
	if w := call(l, 7, strings.NewReader(""), 0); w.Code != http.StatusTooManyRequests {
		t.Errorf("the call is over before its end has been taken: %d", w.Code)
	}
	body.Close()
}
