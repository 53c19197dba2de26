package userproxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"score/scored/api"
	"score/scored/api/scorev1/scorev1connect"
	"score/scored/api/transport/forward"
	"score/scored/api/transport/h2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
)

// cluster is what an agent knows of its servers.
type cluster struct {
	mu      sync.Mutex
	all     []string
	leader  string
	changed chan struct{}
}

func newCluster(all ...string) *cluster { return &cluster{all: all, changed: make(chan struct{})} }

func (c *cluster) Servers() []string { return c.all }

func (c *cluster) Leader() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leader
}

func (c *cluster) LeaderChanged() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

func (c *cluster) lead(url string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leader = url
	close(c.changed)
	c.changed = make(chan struct{})
}

// transport answers calls of servers.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

const unary = "application/proto"

func answer(kind, text string) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(text))}
}

// ask makes a call of user 7.
func ask(h http.Handler, path, kind, said string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://agent"+path, strings.NewReader(said))
	r.Header.Set("Content-Type", kind)
	r = r.WithContext(context.WithValue(r.Context(), userKey{}, caller{uid: 7}))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const (
	list   = scorev1connect.JobServiceListJobsProcedure
	signal = scorev1connect.JobServiceSignalJobProcedure
	attach = scorev1connect.JobServiceAttachProcedure
	drain  = scorev1connect.ClusterServiceDrainNodeProcedure
)

// TestOrder: the server that leads is asked first; one that is not reached, or was lost, comes last
// for a while.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster("https://s1", "https://s2", "https://s3")
		var asked []string
		lost := map[string]bool{}
		h := newForwarder(c, transport(func(r *http.Request) (*http.Response, error) {
			asked = append(asked, r.URL.Host)
			if lost[r.URL.Host] {
				return nil, fmt.Errorf("%w: refused", h2.ErrDial)
			}
			return answer(unary, "ok"), nil
		}), zap.NewNop())
		call := func(want ...string) {
			t.Helper()
			asked = nil
			if got := ask(h, list, unary, ""); got.Body.String() != "ok" || !slices.Equal(asked, want) {
				t.Errorf("%d %s, asked %v, want %v", got.Code, got.Body, asked, want)
			}
		}
		call("s1")
		c.lead("https://s2")
		call("s2")
		lost["s2"] = true
		call("s2", "s1")
		call("s1")
		time.Sleep(2 * shunFor)
		delete(lost, "s2")
		call("s2")
		c.lead("https://s9") // which the list does not have yet
		call("s9")
	})
}

// TestAmbiguousCallIsRepeatedIfSafe: nobody knows whether the lost server has carried out the call.
// Only a call that does no harm twice goes to another server.
func TestAmbiguousCallIsRepeatedIfSafe(t *testing.T) {
	for name, test := range map[string]struct {
		path, kind string
		again      bool
	}{
		"a look":   {list, unary, true},
		"a signal": {signal, unary, false},
		"a stream": {attach, "application/connect+proto", false},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			h := newForwarder(newCluster("https://s1", "https://s2"), transport(func(r *http.Request) (*http.Response, error) {
				said, _ := io.ReadAll(r.Body)
				if asked++; asked == 1 {
					return nil, io.ErrUnexpectedEOF
				}
				return answer(unary, r.URL.Host+" heard "+string(said)), nil
			}), zap.NewNop())
			got := ask(h, test.path, test.kind, "x")
			if again := got.Body.String() == "s2 heard x"; again != test.again || asked > 1 != test.again {
				t.Errorf("%d, %q, asked %d times", got.Code, got.Body, asked)
			}
			if got.Header().Get(api.Unchanged) != "" {
				t.Error("it says that nothing was done")
			}
		})
	}
}

// TestNoServerReachable: a call waits for a server for as long as an election takes, and no longer;
// then one sentence says what is wrong, and whether something may have been done.
func TestNoServerReachable(t *testing.T) {
	for name, test := range map[string]struct {
		err       error
		unchanged string
		text      string
	}{
		"not reached": {h2.ErrDial, api.Yes, "this host's agent reaches none of the cluster's servers (s1:7420, s2:7420)"},
		"lost":        {io.ErrUnexpectedEOF, "", "is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster("https://s1:7420", "https://s2:7420")
				h := newForwarder(c, transport(func(*http.Request) (*http.Response, error) { return nil, test.err }), zap.NewNop())
				began := time.Now()
				got := ask(h, list, unary, "")
				if took := time.Since(began); took < reachTimeout || took > reachTimeout+maxPassPause {
					t.Errorf("it took %v", took)
				}
				if got.Code != http.StatusServiceUnavailable || got.Header().Get(api.Unchanged) != test.unchanged ||
					!strings.Contains(got.Body.String(), test.text) {
					t.Errorf("%d %v %s", got.Code, got.Header(), got.Body)
				}
			})
		})
	}
}

// TestLeaderIsLost: what a leader has does not wait for it when another one leads: streams end at
// once, with an error that their reader can read, calls that may be made again go on at once, and
// others end after a grace.
func TestLeaderIsLost(t *testing.T) {
	for path, want := range map[string]time.Duration{attach: 0, list: 0, signal: forward.AnswerGrace} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster("https://s1", "https://s2")
			c.lead("https://s1")
			h := newForwarder(c, transport(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host == "s2" {
					return answer(unary, "there"), nil
				}
				if path == attach {
					return &http.Response{
						StatusCode: http.StatusOK,
						Header:     http.Header{"Content-Type": {"application/connect+proto"}},
						Body:       silent{r.Context()},
					}, nil
				}
				<-r.Context().Done()
				return nil, r.Context().Err()
			}), zap.NewNop())
			const leads = time.Minute
			time.AfterFunc(leads/2, func() { c.lead("") }) // it may come back
			time.AfterFunc(leads, func() { c.lead("https://s2") })
			kind := unary
			if path == attach {
				kind = "application/connect+proto"
			}
			began := time.Now()
			got := ask(h, path, kind, "")
			if took := time.Since(began); took != leads+want {
				t.Errorf("%s: it took %v, want %v", path, took, leads+want)
			}
			if text := got.Body.String(); path == attach && !strings.Contains(text, "attach again") || path == list && text != "there" ||
				path == signal && !strings.Contains(text, "is not known") {
				t.Errorf("%s: %q", path, text)
			}
		})
	}
}

// silent is a stream on which nothing comes until it is given up.
type silent struct{ ctx context.Context }

func (s silent) Read([]byte) (int, error) { <-s.ctx.Done(); return 0, s.ctx.Err() }
func (s silent) Close() error             { return nil }

// TestUndecided: the answer of a server without a majority is told, and another one is asked the
// next time.
func TestUndecided(t *testing.T) {
	var asked []string
	h := newForwarder(newCluster("https://s1", "https://s2"), transport(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.Host)
		undecided := answer("application/json", "{}")
		undecided.StatusCode = http.StatusServiceUnavailable
		undecided.Header.Set(api.Unchanged, api.Yes)
		return undecided, nil
	}), zap.NewNop())
	for range 2 {
		if got := ask(h, list, unary, ""); got.Code != http.StatusServiceUnavailable || got.Header().Get(api.Unchanged) != api.Yes {
			t.Errorf("%d %v", got.Code, got.Header())
		}
	}
	if !slices.Equal(asked, []string{"s1", "s2"}) {
		t.Errorf("asked %v", asked)
	}
}

// TestNotPassedOn: what takes another role than a user's, and what is no call, no server is asked.
func TestNotPassedOn(t *testing.T) {
	h := newForwarder(newCluster("https://s1"), transport(func(*http.Request) (*http.Response, error) {
		t.Error("a server was asked")
		return nil, h2.ErrDial
	}), zap.NewNop())
	for _, path := range []string{drain, "/", "/score.v1.AgentService/Connect", "/score.v1.PeerService/Stdio", "//score.v1.JobService/Submit"} {
		if got := ask(h, path, unary, ""); got.Code != http.StatusForbidden {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	if got := ask(h, drain, unary, ""); !strings.Contains(got.Body.String(), "run it on a host where 'scored server' runs") {
		t.Errorf("%s", got.Body)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, list, nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", w.Code)
	}
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, list, nil))
	if w.Code != http.StatusInternalServerError && w.Code != http.StatusUnauthorized && w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("of nobody: %d %s", w.Code, w.Body)
	}
}
