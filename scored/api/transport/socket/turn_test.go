package socket

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"score/scored/api/scorev1/scorev1connect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// handled counts the calls of user 7 that are being handled: they go on until the test ends them.
type handled struct {
	mu        sync.Mutex
	now, most int
	end       chan struct{}
}

func (h *handled) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil || r.Header.Get("uid") != "7" {
		return
	}
	h.mu.Lock()
	h.now++
	h.most = max(h.most, h.now)
	h.mu.Unlock()
	<-h.end
	h.mu.Lock()
	h.now--
	h.mu.Unlock()
}

func (h *handled) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func callTo(ctx context.Context, l http.Handler, procedure string, uid uint32, body io.Reader) {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, procedure, body)
	r.Header.Set("uid", fmt.Sprint(uid))
	l.ServeHTTP(httptest.NewRecorder(), r)
}

// Few calls of a user are handled at the same time, so that another's is never behind many.
// Requests that still come have no turn.
func TestCallsTakeTurns(t *testing.T) {
	const submit, more = scorev1connect.JobServiceSubmitProcedure, 100
	synctest.Test(t, func(t *testing.T) {
		h := &handled{end: make(chan struct{})}
		l := newLimits(h, OfUser(byHeader))
		slow, rest := io.Pipe()
		for range maxTurnsOfUser {
			go callTo(t.Context(), l, submit, 7, slow)
		}
		for range maxTurnsOfUser + more {
			go callTo(t.Context(), l, submit, 7, strings.NewReader("x"))
		}
		gone, leave := context.WithCancel(t.Context())
		go callTo(gone, l, submit, 7, strings.NewReader("x"))
		synctest.Wait()
		if n := h.count(); n != maxTurnsOfUser {
			t.Errorf("%d calls are handled", n)
		}
		callTo(t.Context(), l, submit, 8, strings.NewReader("x")) // it waits for none of them
		leave()
		rest.Close()
		close(h.end)
		synctest.Wait()
		if h.most != maxTurnsOfUser || h.now != 0 || len(l.loads) != 0 {
			t.Errorf("%d calls were handled at once; left: %d, %v", h.most, h.now, l.loads)
		}
	})
}

// Calls that wait for the end of a job, or for what ranks write, leave their turns to others.
func TestWaitingCallsLeaveTheirTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &handled{end: make(chan struct{})}
		l := newLimits(h, OfUser(byHeader))
		for i := range 2 * maxTurnsOfUser {
			procedure := []string{scorev1connect.JobServiceWaitJobProcedure, scorev1connect.JobServiceAttachProcedure}[i%2]
			go callTo(t.Context(), l, procedure, 7, strings.NewReader("x"))
		}
		go callTo(t.Context(), l, scorev1connect.JobServiceSubmitProcedure, 7, strings.NewReader("x"))
		synctest.Wait()
		if n := h.count(); n != maxTurnsOfUser {
			t.Errorf("%d calls are handled at first", n)
		}
		time.Sleep(2 * turnTime)
		synctest.Wait()
		if n := h.count(); n != 2*maxTurnsOfUser+1 {
			t.Errorf("%d calls are handled", n)
		}
		close(h.end)
		synctest.Wait()
		if len(l.loads) != 0 {
			t.Errorf("left: %v", l.loads)
		}
	})
}

// A request that is read to its end after the call takes no turn that nobody gives back.
func TestTurnsAfterTheCall(t *testing.T) {
	turns := make(chan struct{}, 1)
	late := &turn{turns: turns}
	late.end()
	if err := late.take(t.Context()); err != nil || len(turns) != 0 {
		t.Errorf("%d turns are taken; %v", len(turns), err)
	}
	synctest.Test(t, func(t *testing.T) {
		turns := make(chan struct{}, 1)
		first, waiting := &turn{turns: turns}, &turn{turns: turns}
		if err := first.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		go func() { _ = waiting.take(t.Context()) }()
		synctest.Wait()
		waiting.end()
		first.end()
		synctest.Wait()
		if len(turns) != 0 {
			t.Error("a call that is over has its turn")
		}
	})
}
