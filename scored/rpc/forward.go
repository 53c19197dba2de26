package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/transport/forward"
	"strings"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

const (
	// electionPatience is how long a call waits for a leader: one and a half elections.
	electionPatience = 3 * time.Second
	// passPause is the time between two attempts while no other server is known to lead.
	passPause = 50 * time.Millisecond
)

// Routing finds the server that decides about calls.
type Routing struct {
	// Own is this server's name.
	Own string
	// Leads reports whether this server leads.
	Leads func() bool
	// Leader returns the leader's name, as far as this server knows; "": none.
	Leader func() (name, address string)
	// Changed returns a channel that is closed when Leader may give another answer.
	Changed func() <-chan struct{}
	// Servers returns the names of all servers.
	Servers func() []string
	// KeepsKeys reports whether a submission that is repeated under its key is carried out only
	// once.
	KeepsKeys func() bool
	// Others reaches other servers by URLs with their names as hosts.
	Others http.RoundTripper
	Logger *zap.Logger
}

// here reports whether to serve calls here: this server leads, or is about to.
func (p *Routing) here() bool {
	name, _ := p.Leader()
	return p.Leads() || name == p.Own
}

// router serves calls if this server leads, and forwards them to the leader otherwise.
type router struct {
	*Routing
	local http.Handler
	// identify returns for whom a call is forwarded. Its error goes to the caller.
	identify func(*http.Request) (forwarded, error)
}

// errSentBack is the answer of a server that does not lead either; it has done nothing.
var errSentBack = errors.New("the server that was asked does not lead")

// ServeHTTP implements http.Handler.
func (h *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.here() {
		h.local.ServeHTTP(w, r)
		return
	}
	body, err := forward.ReadBody(r, h.KeepsKeys()) // kept for all attempts
	if err != nil {
		forward.Refuse(w, r, err)
		return
	}
	who, err := h.identify(r)
	if err != nil {
		forward.Refuse(w, r, unauthenticated(err))
		return
	}
	h.serveAnywhere(w, r, body, who)
}

// serveAnywhere tries the servers that lead, one after the other, until one has answered the call
// or it may not be repeated; at most for electionPatience.
func (h *router) serveAnywhere(w http.ResponseWriter, r *http.Request, body *forward.Body, who forwarded) {
	limit, doubtful := time.Now().Add(electionPatience), false
	for {
		changed := h.Changed()
		leader, _ := h.Leader()
		switch {
		case h.here():
			body.Attach(r)
			h.local.ServeHTTP(w, r)
			return
		case leader != "":
			answered, err := h.forwardTo(w, r, body, leader, who)
			if answered {
				return
			}
			h.Logger.Debug("not passed on", zap.String("leader", leader), zap.Error(err))
			if body.MayHaveRun() && !body.Repeatable(r) {
				forward.Refuse(w, r, forward.Lost())
				return
			}
			doubtful = doubtful || body.MayHaveRun()
			body.Reset()
		}
		if time.Now().After(limit) {
			forward.Refuse(w, r, noMajority(h.Servers(), h.Own, doubtful))
			return
		}
		select {
		case <-changed:
		case <-time.After(passPause):
		case <-r.Context().Done():
			return
		}
	}
}

// unauthenticated returns the error for a caller that cannot be identified.
func unauthenticated(err error) error {
	if _, coded := errors.AsType[*connect.Error](err); coded {
		return err
	}
	return connect.NewError(connect.CodeUnauthenticated, err)
}

// noMajority returns the error for users when this server, own, knows of none that leads: there is
// none, or the network between the two is cut. doubtful: a lost server may have carried out the
// call. The user may repeat the call in either case, since others are not retried here.
func noMajority(servers []string, own string, doubtful bool) error {
	text := leaderless(servers, own)
	if doubtful {
		return forward.Undecided(text, "it is not known whether the lost server carried out the request")
	}
	return forward.Undecided(text, "")
}

// leaderless returns the sentence for it. A server that is to join knows no servers.
func leaderless(servers []string, own string) string {
	if len(servers) == 0 {
		return fmt.Sprintf("the cluster's other servers have not made %s a server yet; its log says why; try again", own)
	}
	return fmt.Sprintf(
		"the cluster can decide nothing now: of its %d servers (%s) no majority is in contact, or %s does not reach the one that leads; what runs goes on; start the others, and try again",
		len(servers),
		strings.Join(servers, ", "),
		own,
	)
}

// forwardTo forwards a call to another server, and reports whether that answered. If not, body
// reports whether the call may have been carried out.
func (h *router) forwardTo(w http.ResponseWriter, r *http.Request, b *forward.Body, leader string, who forwarded) (bool, error) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer h.watch().While(leader, func() time.Duration { return b.Grace(r) }, cancel)()
	out := r.Clone(ctx)
	out.URL.Scheme, out.URL.Host, out.Host, out.RequestURI = "https", leader, "", ""
	forward.DropHop(out.Header)
	who.put(out.Header)
	response, err := forward.Send(h.Others, out, b)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusMisdirectedRequest {
		return false, errSentBack
	}
	forward.CopyAnswer(ctx, w, response)
	return true, nil
}

// watch returns a watch on the leader. A leader counts as lost if this server has known of none for
// as long as an election may take.
func (p *Routing) watch() *forward.Watch {
	leader := func() string { name, _ := p.Leader(); return name }
	return &forward.Watch{Leader: leader, Changed: p.Changed, Silence: electionPatience}
}

// NewRouter serves users' calls with local if this server leads, and forwards them to the leader
// otherwise, with the user's identity from the kernel.
func NewRouter(local http.Handler, p *Routing) http.Handler {
	return limitPerUser(&router{Routing: p, local: local, identify: forwardUser})
}

// NewDaemonHandler serves the daemons' address: calls of daemons, and users' and daemons' calls
// that other servers forward. Calls that any server can answer are served here, the others on the
// leader.
func NewDaemonHandler(users, agents http.Handler, p *Routing) http.Handler {
	onward := &router{Routing: p, local: agents, identify: forwardDaemon}
	daemons := http.NewServeMux()
	daemons.Handle("/", onward)
	daemons.Handle(agentpbconnect.AgentServiceConnectProcedure, agents) // agents are redirected instead
	daemons.Handle(agentpbconnect.AgentServiceFindLeaderProcedure, agents)
	daemons.Handle(agentpbconnect.ServerServiceGetDiskProcedure, agents)
	daemons.Handle(agentpbconnect.ServerServiceDescribeProcedure, agents)
	return withDaemon(&daemonHandler{daemons: daemons, passed: agents, users: users, here: p.here, byAgent: newByAgents(users, p)})
}

// WithDaemon serves the daemons' address in a cluster with one server.
func WithDaemon(agents http.Handler) http.Handler { return withDaemon(agents) }
