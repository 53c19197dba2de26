package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"score/scored/api/scorev1/scorev1connect"
	"score/scored/api/transport/forward"
	"strings"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

const (
	// electionPatience is how long a call waits here for a server that leads: an election and a
	// half.
	electionPatience = 3 * time.Second
	// passPause is the time between two tries, when nothing says that another server leads.
	passPause = 50 * time.Millisecond
)

// Routing tells where calls are decided.
type Routing struct {
	// Own is this server's name.
	Own string
	// Leads reports whether this server decides.
	Leads func() bool
	// Leader is the name of the server that leads, as far as is known here; "": none.
	Leader func() (name, address string)
	// Changed is closed when Leader may give another answer.
	Changed func() <-chan struct{}
	// Servers are the names of all.
	Servers func() []string
	// KeepsKeys reports whether submissions under keys are carried out once, however often they are
	// made.
	KeepsKeys func() bool
	// Others reaches servers by URLs whose host is their name.
	Others http.RoundTripper
	Logger *zap.Logger
}

// here reports whether a call is to be served here: this server decides, or is about to.
func (p *Routing) here() bool {
	name, _ := p.Leader()
	return p.Leads() || name == p.Own
}

// router serves calls where this server leads, and has the leader serve them otherwise.
type router struct {
	*Routing
	local http.Handler
	// identify tells for whom a call is passed on; the error goes to the caller.
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
	body, err := forward.ReadBody(r, h.KeepsKeys()) // from the first try on
	if err != nil {
		forward.Refuse(w, r, err)
		return
	}
	who, err := h.identify(r)
	if err != nil {
		forward.Refuse(w, r, unauthenticated(err))
		return
	}
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
			forward.Refuse(w, r, noMajority(h.Servers(), doubtful))
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

// unauthenticated returns the answer to a caller of whom not enough is known, unless the
// error says more.
func unauthenticated(err error) error {
	if _, coded := errors.AsType[*connect.Error](err); coded {
		return err
	}
	return connect.NewError(connect.CodeUnauthenticated, err)
}

// noMajority returns what users are told when no server leads; doubtful: one that was lost may have
// done what they asked for. They may repeat it in either case, or it would not have been repeated
// here.
func noMajority(servers []string, doubtful bool) error {
	text := fmt.Sprintf(
		"the cluster can decide nothing now: of its %d servers (%s) no majority is in contact; what runs goes on; start the others, and try again",
		len(servers),
		strings.Join(servers, ", "),
	)
	if doubtful {
		return forward.Undecided(text, "whether the request was carried out by the server that led is not known")
	}
	return forward.Undecided(text, "")
}

// forwardTo has another server answer. It is false when that did not come to it; then body reports
// whether something may have been done all the same.
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
	forward.CopyAnswer(w, response)
	return true, nil
}

// watch tells who leads. A leader is taken for lost when none was heard of for as long as an
// election may take.
func (p *Routing) watch() *forward.Watch {
	leader := func() string { name, _ := p.Leader(); return name }
	return &forward.Watch{Leader: leader, Changed: p.Changed, Silence: electionPatience}
}

// NewRouter serves users' calls by local where this server leads, and has the server that leads
// serve them otherwise, for the user whom the kernel tells here.
func NewRouter(local http.Handler, p *Routing) http.Handler {
	return limitPerUser(&router{Routing: p, local: local, identify: forwardUser})
}

// NewDaemonHandler serves the address of the daemons: users' and daemons' calls that other servers
// forward, and calls of daemons. Those that any server takes are served here, others where the
// server leads.
func NewDaemonHandler(users, agents http.Handler, p *Routing) http.Handler {
	onward := &router{Routing: p, local: agents, identify: forwardDaemon}
	daemons := http.NewServeMux()
	daemons.Handle("/", onward)
	daemons.Handle(scorev1connect.AgentServiceConnectProcedure, agents) // agents are sent on instead
	daemons.Handle(scorev1connect.AgentServiceFindLeaderProcedure, agents)
	daemons.Handle(scorev1connect.ServerServiceGetDiskProcedure, agents)
	daemons.Handle(scorev1connect.ServerServiceDescribeProcedure, agents)
	return withDaemon(&daemonHandler{daemons: daemons, passed: agents, users: users, here: p.here, byAgent: newByAgents(users, p)})
}

// WithDaemon serves the address of the daemons of a cluster that has one server.
func WithDaemon(agents http.Handler) http.Handler { return withDaemon(agents) }
