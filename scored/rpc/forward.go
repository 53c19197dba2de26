package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"score/scored/api"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"score/scored/mesh"
)

const (
	// electionPatience is how long a call waits here for a server that leads: an election and a half.
	electionPatience = 3 * time.Second
	// passPause is the time between two tries, when nothing says that another server leads.
	passPause = 50 * time.Millisecond
	// answerGrace is how long a server that led may take to answer what it was asked before, such as to lead no more, and what
	// the next one must not be asked again.
	answerGrace = time.Second
	// unchanged marks errors of calls that have done nothing, so that they may be made again.
	unchanged = "Score-Unchanged"
	yes       = "yes"
)

// Place tells where calls are decided.
type Place struct {
	// Own is this server's name.
	Own string
	// Leads tells whether this server decides.
	Leads func() bool
	// Leader is the name of the server that leads, as far as is known here; "": none.
	Leader func() (name, address string)
	// Changed is closed when Leader may give another answer.
	Changed func() <-chan struct{}
	// Servers are the names of all.
	Servers func() []string
	// KeepsKeys tells whether submissions under keys are carried out once, however often they are made.
	KeepsKeys func() bool
	// Others reaches servers by URLs whose host is their name.
	Others http.RoundTripper
	Logger *zap.Logger
}

// here tells whether a call is to be served here: this server decides, or is about to.
func (p *Place) here() bool {
	name, _ := p.Leader()
	return p.Leads() || name == p.Own
}

// router serves calls where this server leads, and has the leader serve them otherwise.
type router struct {
	*Place
	local http.Handler
	// who tells for whom a call is passed on; the error goes to the caller.
	who func(*http.Request) (forwarded, error)
}

// errSentBack is the answer of a server that does not lead either; it has done nothing.
var errSentBack = errors.New("the server that was asked does not lead")

// ServeHTTP implements http.Handler.
func (h *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.here() {
		h.local.ServeHTTP(w, r)
		return
	}
	body, err := bodyOf(r)
	if err != nil {
		refuse(w, r, err)
		return
	}
	body.keys = h.KeepsKeys() // from the first try on
	who, err := h.who(r)
	if err != nil {
		refuse(w, r, connect.NewError(connect.CodeUnauthenticated, err))
		return
	}
	limit, doubtful := time.Now().Add(electionPatience), false
	for {
		changed := h.Changed()
		leader, _ := h.Leader()
		switch {
		case h.here():
			body.put(r)
			h.local.ServeHTTP(w, r)
			return
		case leader != "":
			answered, err := h.pass(w, r, body, leader, who)
			if answered {
				return
			}
			h.Logger.Debug("not passed on", zap.String("leader", leader), zap.Error(err))
			if body.used() && !body.repeatable(r) {
				refuse(w, r, connect.NewError(connect.CodeUnavailable, errLostWithIt))
				return
			}
			doubtful = doubtful || body.used()
			body.read.Store(false)
		}
		if time.Now().After(limit) {
			refuse(w, r, noMajority(h.Servers(), doubtful))
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

// errLostWithIt is the answer to a call that may have been carried out, and must not be made again.
var errLostWithIt = errors.New("the server that leads was lost while it had the request; whether it was carried out is not known")

// noMajority is what users are told when no server leads; doubtful: one that was lost may have done what they asked for.
// They may repeat it in either case, or it would not have been repeated here.
func noMajority(servers []string, doubtful bool) error {
	text := fmt.Sprintf("the cluster can decide nothing now: of its %d servers (%s) no majority is in contact; what runs goes on; start the others, and try again", len(servers), strings.Join(servers, ", "))
	if doubtful {
		text += " (whether the request was carried out by the server that led is not known)"
	}
	err := connect.NewError(connect.CodeUnavailable, errors.New(text))
	if !doubtful {
		err.Meta().Set(unchanged, yes)
	}
	return err
}

// refuse answers in the caller's protocol.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	_ = connect.NewErrorWriter().Write(w, r, err) // whoever asked has gone
}

// body is what a call brings. That of a unary call is kept, so that it can be sent again.
type body struct {
	kept   []byte
	stream io.ReadCloser
	keys   bool        // submissions under keys may be made again
	read   atomic.Bool // from stream, or sent to a server that did not send it back
}

// streaming tells whether messages may follow each other, as in
// https://connectrpc.com/docs/protocol#streaming-request and in gRPC.
func streaming(r *http.Request) bool {
	kind := r.Header.Get("Content-Type")
	return strings.HasPrefix(kind, "application/connect+") || strings.HasPrefix(kind, "application/grpc")
}

func bodyOf(r *http.Request) (*body, error) {
	if streaming(r) {
		return &body{stream: r.Body}, nil
	}
	kept, err := io.ReadAll(io.LimitReader(r.Body, maxUserMessage+1))
	switch {
	case err != nil:
		return nil, connect.NewError(connect.CodeCanceled, err)
	case len(kept) > maxUserMessage:
		return nil, connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("the request is larger than %d bytes", maxUserMessage))
	}
	return &body{kept: kept}, nil
}

// repeatable tells whether the call may be made again though it may have been carried out.
func (b *body) repeatable(r *http.Request) bool {
	if b.stream != nil {
		return false
	}
	if r.URL.Path != api.KeyedSubmit {
		return api.Repeatable(r.URL.Path)
	}
	request := new(scorev1.SubmitRequest)
	decode := proto.Unmarshal
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		decode = protojson.Unmarshal
	}
	return b.keys && decode(b.kept, request) == nil && len(request.GetKey()) > 0
}

// put gives the body to a request.
func (b *body) put(r *http.Request) {
	if b.stream == nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b.kept)), int64(len(b.kept))
		return
	}
	r.Body, r.ContentLength = b, -1
}

// Read implements io.Reader for a stream.
func (b *body) Read(into []byte) (int, error) {
	b.read.Store(true)
	return b.stream.Read(into)
}

// Close implements io.Closer. A stream of which nothing was read can still go to another server; of one that was read it
// ends whoever reads, without which the call could not end.
func (b *body) Close() error {
	if !b.used() {
		return nil
	}
	return b.stream.Close()
}

// used tells whether the call may have been carried out somewhere, or cannot be made again.
func (b *body) used() bool { return b.read.Load() }

// pass has another server answer. It is false when that did not come to it; then body tells whether
// something may have been done all the same.
func (h *router) pass(w http.ResponseWriter, r *http.Request, b *body, leader string, who forwarded) (bool, error) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	grace := func() time.Duration {
		if b.stream != nil || b.repeatable(r) {
			return 0 // the next leader is asked
		}
		return answerGrace
	}
	defer h.whileLeads(leader, grace, cancel)()
	out := r.Clone(ctx)
	out.URL.Scheme, out.URL.Host, out.Host, out.RequestURI = "https", leader, "", ""
	for _, name := range hopHeaders {
		out.Header.Del(name)
	}
	who.put(out.Header)
	b.put(out)
	response, err := h.Others.RoundTrip(out)
	if err != nil {
		if !errors.Is(err, mesh.ErrDial) {
			b.read.Store(true)
		}
		return false, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusMisdirectedRequest {
		return false, errSentBack
	}
	if err := gather(response); err != nil {
		b.read.Store(true)
		return false, err
	}
	header := w.Header()
	for name, values := range response.Header {
		header[name] = values
	}
	w.WriteHeader(response.StatusCode)
	h.carry(w, response)
	return true, nil
}

// hopHeaders concern one connection (RFC 9110, section 7.6.1).
var hopHeaders = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Transfer-Encoding", "Upgrade"}

// whileLeads calls lost some time after another server has begun to lead, or when none has led for as long as an
// election may take, until stop.
func (h *router) whileLeads(leader string, grace func() time.Duration, lost func()) (stop func()) {
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			changed := h.Changed()
			var late <-chan time.Time // nil while it leads
			switch now, _ := h.Leader(); now {
			case leader:
			case "":
				late = time.After(electionPatience)
			default:
				late, changed = time.After(grace()), nil
			}
			select {
			case <-changed:
			case <-late:
				lost()
				return
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-over }
}

// NewRouter serves users' calls by local where this server leads, and has the server that leads serve them otherwise, for
// the user whom the kernel tells here.
func NewRouter(local http.Handler, p *Place) http.Handler {
	return newLimits(&router{Place: p, local: local, who: forwardUser})
}

// NewDoor serves the address of the daemons: users' and daemons' calls that other servers pass on, and calls of daemons.
// Those that any server takes are served here, others where the server leads.
func NewDoor(users, agents http.Handler, p *Place, revoked func(*http.Request) bool) http.Handler {
	onward := &router{Place: p, local: agents, who: forwardDaemon}
	daemons := http.NewServeMux()
	daemons.Handle("/", onward)
	daemons.Handle(scorev1connect.AgentServiceConnectProcedure, agents) // agents are sent on instead
	daemons.Handle(scorev1connect.AgentServiceFindLeaderProcedure, agents)
	daemons.Handle(scorev1connect.ServerServiceGetDiskProcedure, agents)
	daemons.Handle(scorev1connect.ServerServiceDescribeProcedure, agents)
	return withDaemon(&trusting{daemons: daemons, passed: agents, users: users, here: p.here, revoked: revoked})
}

// WithDaemon serves the address of the daemons of a cluster that has one server.
func WithDaemon(agents http.Handler) http.Handler { return withDaemon(agents) }
