package uplink

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
)

// follower is a server that answers questions as it likes.
type follower struct {
	agentpbconnect.UnimplementedAgentServiceHandler
	answer func(ctx context.Context, after uint64) (term uint64, address string, err error)
}

func (f follower) FindLeader(ctx context.Context, r *connect.Request[agentpb.FindLeaderRequest]) (*connect.Response[agentpb.FindLeaderResponse], error) {
	term, address, err := f.answer(ctx, r.Msg.GetAfterTerm())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&agentpb.FindLeaderResponse{Term: term, Address: address}), nil
}

// network has servers by host.
type network map[string]follower

func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	_, handler := agentpbconnect.NewAgentServiceHandler(n[r.URL.Host])
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Result(), nil
}

// wait is how a server waits for an election that ends after some time.
func wait(ctx context.Context, elected time.Duration) error {
	if !sleep(ctx, elected) {
		return context.Cause(ctx)
	}
	return nil
}

// A node whose leader is silent asks the others after a second, and goes to the leader that the
// first of them names.
func TestSeek(t *testing.T) {
	none := func(context.Context, uint64) (uint64, string, error) { return 0, "", errors.New("not there") }
	tests := []struct {
		name    string
		term    uint64 // of the leader that the node had
		welcome bool   // by the server that is silent
		answer  func(ctx context.Context, after uint64) (uint64, string, error)
		want    string // the URL to which the next attempt goes
		after   time.Duration
	}{
		{"a later leader is known", 5, true, func(_ context.Context, after uint64) (uint64, string, error) {
			return after + 1, "c:1", nil
		}, "http://c:1", uneasyAfter},
		{"one is elected", 5, true, func(ctx context.Context, after uint64) (uint64, string, error) {
			return after + 1, "c:1", wait(ctx, 700*time.Millisecond)
		}, "http://c:1", uneasyAfter + 700*time.Millisecond},
		{"none is elected, then one is", 5, true, func() func(context.Context, uint64) (uint64, string, error) {
			asked := 0
			return func(ctx context.Context, after uint64) (uint64, string, error) {
				if asked++; asked < 3 {
					return 0, "", wait(ctx, 3*time.Second)
				}
				return after + 1, "c:1", nil
			}
		}(), "http://c:1", uneasyAfter + 2*(3*time.Second+seekPause)},
		{"the same leader is no news", 5, true, func(_ context.Context, after uint64) (uint64, string, error) {
			return after, "c:1", nil
		}, "", time.Minute},
		{"the same leader will do for a node that another server keeps waiting", 5, false, func(_ context.Context, after uint64) (uint64, string, error) {
			return 5, "c:1", nil
		}, "http://c:1", uneasyAfter},
		{"not if it is that server", 5, false, func(_ context.Context, after uint64) (uint64, string, error) {
			return 5, "a:1", nil
		}, "", time.Minute},
		{"a node that had none takes any", 0, false, func(_ context.Context, after uint64) (uint64, string, error) {
			return 1, "c:1", nil
		}, "http://c:1", uneasyAfter},
		{"rubbish", 5, true, func(_ context.Context, after uint64) (uint64, string, error) {
			return after + 1, "c:1/../?", nil
		}, "http://a:1", uneasyAfter}, // the stream is given up, and the next server is asked in turn
		{"nobody answers", 5, true, none, "", time.Minute},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				link := New(Options{
					Servers: []string{"http://a:1", "http://b:1", "http://dead:1"},
					Client:  &http.Client{Transport: network{"b:1": follower{answer: test.answer}, "dead:1": follower{answer: none}}},
					Now:     func() int64 { return time.Since(began).Nanoseconds() },
				})
				link.term.Store(test.term)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				found := false
				s := seeker{link: link, from: "http://a:1", found: func() { found = true }}
				s.welcomed.Store(test.welcome)
				s.run(ctx)
				if took := time.Since(began); took != test.after || found != (test.want != "") {
					t.Errorf("found: %v, after %v, want %v", found, took, test.after)
				}
				if url, _ := link.servers.next(); found && url != test.want {
					t.Errorf("next is %s, want %s", url, test.want)
				}
			})
		})
	}
}

// Nobody is asked while the leader is heard.
func TestSeekNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, asked := time.Now(), 0
		link := New(Options{
			Servers: []string{"http://a:1", "http://b:1"},
			Client: &http.Client{Transport: network{"b:1": follower{answer: func(context.Context, uint64) (uint64, string, error) {
				asked++
				return 0, "", nil
			}}}},
			Now: func() int64 { return time.Since(began).Nanoseconds() },
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() {
			for sleep(ctx, pingEvery) {
				link.lastHeard.Store(link.options.Now())
			}
		}()
		s := seeker{link: link, from: "http://a:1", found: func() {}}
		s.run(ctx)
		if asked != 0 {
			t.Errorf("asked %d times", asked)
		}
	})
}
