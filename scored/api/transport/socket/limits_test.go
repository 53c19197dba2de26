package socket

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"score/scored/api"
	"score/scored/api/scorev1/scorev1connect"
	"strings"
	"sync"
	"testing"
)

// zeros is a body of so many bytes, of which is known how many were read.
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
			l = newLimits(readAll(&l, func() { begun.Done(); <-end }), OfUser(byHeader))
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
