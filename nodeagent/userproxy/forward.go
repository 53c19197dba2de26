package userproxy

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"score/scored/api"
	"score/scored/api/transport/forward"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

const (
	// reachTimeout is how long a call waits for a reachable server: as long as a server waits for a
	// leader, one and a half elections.
	reachTimeout = 3 * time.Second
	// passPause is the time between the first two tries, unless another server is known to lead; it
	// doubles up to maxPassPause.
	passPause    = 50 * time.Millisecond
	maxPassPause = 500 * time.Millisecond
	// shunFor is how long a server is avoided: two elections.
	shunFor = 4 * time.Second
)

// forwarder forwards calls to the server that leads, or to any other, which then does the same.
type forwarder struct {
	servers Servers
	calls   http.RoundTripper
	logger  *zap.Logger

	mu    sync.Mutex
	shun  string // the last unreachable server; the others are tried first
	until time.Time
}

func newForwarder(servers Servers, calls http.RoundTripper, logger *zap.Logger) *forwarder {
	return &forwarder{servers: servers, calls: calls, logger: logger}
}

// call is one call under way.
type call struct {
	*forwarder
	w        http.ResponseWriter
	r        *http.Request
	body     *forward.Body
	uid      uint32
	limits   string // of the calling process; "": not needed
	doubtful bool   // a server that was lost may have carried it out
}

// ServeHTTP implements http.Handler.
func (f *forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	c := call{forwarder: f, w: w, r: r}
	if err := c.serve(); err != nil {
		forward.Refuse(w, r, err)
	}
}

// serve checks the call and forwards it. The error is for the caller.
func (c *call) serve() (err error) {
	if err := api.ByAgent(c.r.URL.Path); err != nil {
		return err
	}
	if c.uid, err = userOf(c.r.Context()); err != nil {
		return err
	}
	if c.limits, err = limitsOf(c.r); err != nil {
		return err
	}
	if c.body, err = forward.ReadBody(c.r, false); err != nil { // programs repeat submissions under keys themselves
		return err
	}
	return c.pass()
}

// pass forwards the call to a server that answers it; the error is for the caller.
func (c *call) pass() error {
	for limit, pause := time.Now().Add(reachTimeout), passPause; ; pause = min(2*pause, maxPassPause) {
		changed := c.servers.LeaderChanged()
		for _, server := range c.order() {
			answered, err := c.by(server)
			if answered {
				return nil
			}
			c.logger.Debug("a user's call was not passed on", zap.String("server", server), zap.Error(err))
			c.avoid(server)
			if c.body.MayHaveRun() && !c.body.Repeatable(c.r) {
				return forward.Lost()
			}
			c.doubtful = c.doubtful || c.body.MayHaveRun()
			c.body.Reset()
			if c.r.Context().Err() != nil {
				return connect.NewError(connect.CodeCanceled, c.r.Context().Err())
			}
		}
		if time.Now().After(limit) {
			return noServer(c.servers.Servers(), c.doubtful)
		}
		select {
		case <-changed:
		case <-time.After(pause):
		case <-c.r.Context().Done():
		}
	}
}

// order returns the servers in the order of tries: the leader, the others, and last the one to
// avoid.
func (f *forwarder) order() []string {
	shun := f.avoided()
	leader := f.servers.Leader()
	rank := func(url string) int {
		switch url {
		case shun:
			return 2
		case leader:
			return 0
		default:
			return 1
		}
	}
	all := slices.Clone(f.servers.Servers())
	if leader != "" && !slices.Contains(all, leader) {
		all = append(all, leader)
	}
	slices.SortStableFunc(all, func(a, b string) int { return rank(a) - rank(b) })
	return all
}

// avoid puts a server last for a while.
func (f *forwarder) avoid(server string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shun, f.until = server, time.Now().Add(shunFor)
}

// avoided returns the server to avoid; "": none.
func (f *forwarder) avoided() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Now().After(f.until) {
		return ""
	}
	return f.shun
}

// by forwards the call to one server, and reports whether it answered. If not, the body knows
// whether the call may have been carried out.
func (c *call) by(server string) (bool, error) {
	ctx, cancel := context.WithCancel(c.r.Context())
	defer cancel()
	out, err := c.request(ctx, server)
	if err != nil {
		return false, err
	}
	if server == c.servers.Leader() {
		watch := forward.Watch{Leader: c.servers.Leader, Changed: c.servers.LeaderChanged}
		defer watch.While(server, func() time.Duration { return c.body.Grace(c.r) }, cancel)()
	}
	response, err := forward.Send(c.calls, out, c.body)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	if response.Header.Get(api.Unchanged) != "" {
		c.avoid(server) // it has no majority: the caller gets this answer, and will ask again
	}
	forward.CopyAnswer(ctx, c.w, response)
	return true, nil
}

// kept lists the headers of a call that are forwarded: its encoding and its program. Others are
// dropped, since a server would attribute some of them to the agent.
var kept = append(api.ProgramHeaders(),
	"Accept", "Accept-Encoding", "Content-Encoding", "Content-Type", "User-Agent",
	"Connect-Protocol-Version", "Connect-Timeout-Ms", "Connect-Accept-Encoding", "Connect-Content-Encoding",
	"Grpc-Timeout", "Grpc-Encoding", "Grpc-Accept-Encoding",
)

// request makes the call to a server.
func (c *call) request(ctx context.Context, server string) (*http.Request, error) {
	base, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	to := url.URL{Scheme: base.Scheme, Host: base.Host, Path: c.r.URL.Path}
	out, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), nil)
	if err != nil {
		return nil, err
	}
	for _, name := range kept {
		if values := c.r.Header.Values(name); len(values) > 0 {
			out.Header[name] = values
		}
	}
	out.Header.Set(api.ForUID, strconv.FormatUint(uint64(c.uid), 10))
	if c.limits != "" {
		out.Header.Set(api.ForLimits, c.limits)
	}
	return out, nil
}

// noServer returns the error for users if no server can be reached. doubtful means that a lost
// server may have carried out the call. The user may repeat the call even then: pass asks another
// server only if a second execution does no harm.
func noServer(servers []string, doubtful bool) error {
	hosts := make([]string, len(servers))
	for i, server := range servers {
		_, hosts[i], _ = strings.Cut(server, "://")
	}
	text := fmt.Sprintf("this host's agent reaches none of the cluster's servers (%s); what runs goes on; start them, and try again", strings.Join(hosts, ", "))
	if doubtful {
		return forward.Undecided(text, "whether the request was carried out by the server that was lost is not known")
	}
	return forward.Undecided(text, "")
}
