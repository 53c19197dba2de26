package rpc

import (
	"context"
	"errors"
	"net/http"
	"score/scored/admission"
	"score/scored/api"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/access"
	"score/scored/api/scorev1"
	"score/scored/failpoint"
	"score/scored/leader"
	"sync"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

const (
	// maxAgentMessage bounds a message of an agent: the states of api.MaxRanksPerNode ranks, or a
	// spawn with its environment.
	maxAgentMessage = 8 << 20
	// helloTimeout is how long a new stream may take to say who it is.
	helloTimeout = 5 * time.Second
)

// SwitchSink receives the agents' measurements.
type SwitchSink interface {
	Add(node string, report *agentpb.SwitchReport)
}

// AgentOptions are the options of NewAgents. CountError and Logger are optional.
type AgentOptions struct {
	Leader *leader.Leader
	// Registrar renews certificates; nil: daemons have no certificates.
	Registrar *admission.Registrar
	// Servers are the cluster's servers; nil: there is only this one.
	Servers Servers
	// Addresses lists the addresses of all servers; nil: agents know them.
	Addresses func() []string
	Switches  SwitchSink
	// AddServer makes a server a member, and reports whether it votes. Required with Servers.
	AddServer func(name string, request *agentpb.EnrolRequest) (voter bool, err error)
	// Program is this server's version.
	Program    *scorev1.ProgramVersion
	CountError func(procedure, code string)
	Logger     *zap.Logger
}

// agents serves the agents of nodes.
type agents struct{ AgentOptions }

var (
	_ agentpbconnect.AgentServiceHandler  = agents{}
	_ agentpbconnect.ServerServiceHandler = agents{}
)

// NewAgents returns the handler for the agents' address.
func NewAgents(options AgentOptions) http.Handler {
	if options.Logger == nil {
		options.Logger = zap.NewNop()
	}
	handlerOptions := []connect.HandlerOption{
		connect.WithInterceptors(interceptor{count: options.CountError}),
		connect.WithReadMaxBytes(maxAgentMessage),
		api.JSON(),
		withoutCompression(),
	}
	mux := http.NewServeMux()
	mux.Handle(agentpbconnect.NewAgentServiceHandler(agents{options}, handlerOptions...))
	mux.Handle(agentpbconnect.NewServerServiceHandler(agents{options}, handlerOptions...))
	return access.Guard(mux)
}

type agentStream = connect.BidiStream[agentpb.AgentMessage, agentpb.ServerMessage]

// Connect implements AgentServiceHandler.
func (a agents) Connect(ctx context.Context, stream *agentStream) error {
	link := newAgentLink(a.Leader.Now)
	link.addresses = a.Addresses
	received := make(chan error, 1)
	// receive ends when this function has returned, since that closes the request.
	go func() { received <- a.receive(ctx, stream, link) }()
	return link.run(ctx, stream, received)
}

// receive handles the agent's messages, from the first one until the stream ends.
func (a agents) receive(ctx context.Context, stream *agentStream, link *agentLink) error {
	late := time.AfterFunc(helloTimeout, func() { link.Close("") })
	first, err := stream.Receive()
	late.Stop()
	hello := first.GetHello()
	if err != nil || hello == nil {
		return invalid("the first message must say who the agent is")
	}
	if err := checkNode(ctx, hello.GetNode()); err != nil {
		return err
	}
	if a.redirectToLeader(ctx, link) {
		return nil
	}
	a.adapt(link, hello)
	refusal, err := a.Leader.Connect(ctx, hello, serialOf(ctx), link)
	if err != nil {
		a.Leader.Disconnect(hello.GetNode(), link) // the leader may still process the Connect
		return err
	}
	if refusal != "" {
		a.Logger.Warn("agent refused", zap.String("node", hello.GetNode()), zap.String("reason", refusal))
		link.Close(refusal)
		return nil
	}
	defer a.Leader.Disconnect(hello.GetNode(), link)
	for {
		message, err := stream.Receive()
		if err != nil {
			return nil // the link ended; the leader is notified
		}
		if ping := message.GetPing(); ping != nil {
			link.pong(ping)
		}
		if report := message.GetSwitchReport(); report != nil {
			a.Switches.Add(hello.GetNode(), report)
		}
		passPoints(message)
		if err := a.Leader.Receive(ctx, hello.GetNode(), link, message); err != nil {
			return err
		}
	}
}

// passPoints triggers the failpoints of an agent's message.
func passPoints(message *agentpb.AgentMessage) {
	switch message.GetMessage().(type) {
	case *agentpb.AgentMessage_Launched:
		_ = failpoint.Hit(failpoint.LaunchArrived) // cannot fail
	case *agentpb.AgentMessage_RankExited:
		_ = failpoint.Hit(failpoint.ExitArrived) // cannot fail
	}
}

// agentLink is the connection to one agent: a bounded queue, and one goroutine that writes to the
// stream. It implements leader.Link.
type agentLink struct {
	now   func() (nanos int64, term uint64)
	queue *outbox
	over  chan struct{}

	once          sync.Once
	reason        string // of the refusal; written before over is closed
	leaderAddress string // address of the server that leads; likewise

	// refused answers the leader for an order that the agent cannot read; nil: the agent can read
	// all orders.
	refused func(context.Context, *agentpb.Prepared)

	addresses     func() []string // of all servers; nil: the agent knows them
	sentAddresses []string        // last sent; used by run only
}

func newAgentLink(now func() (int64, uint64)) *agentLink {
	return &agentLink{now: now, queue: newOutbox(), over: make(chan struct{})}
}

// Send implements leader.Link.
func (l *agentLink) Send(message *agentpb.ServerMessage) {
	if !l.queue.put(message) {
		l.Close("")
	}
}

// Close implements leader.Link.
func (l *agentLink) Close(reason string) {
	l.once.Do(func() {
		l.reason = reason
		close(l.over)
	})
}

// pong answers a heartbeat that arrived just now. When the answer leaves it is completed.
func (l *agentLink) pong(ping *agentpb.Ping) {
	pong := &agentpb.Pong{Sequence: ping.GetSequence(), AgentNanos: ping.GetAgentNanos()}
	pong.ArrivedNanos, pong.Term = l.now()
	l.Send(&agentpb.ServerMessage{Message: &agentpb.ServerMessage_Pong{Pong: pong}})
}

// run writes queued messages until either side ends the stream.
func (l *agentLink) run(ctx context.Context, stream *agentStream, received <-chan error) error {
	defer l.Close("")
	for {
		select {
		case <-l.queue.ready:
			if l.writeAll(ctx, stream) != nil {
				return nil // the stream ended; the receiver notifies the leader
			}
		case err := <-received:
			select {
			case <-l.over: // refused
				return l.refuse(stream)
			default:
				return err
			}
		case <-l.over:
			return l.refuse(stream)
		case <-ctx.Done():
			return nil
		}
	}
}

// writeAll sends what is queued, unless the link is closed meanwhile.
func (l *agentLink) writeAll(ctx context.Context, stream *agentStream) error {
	for _, message := range l.queue.take() {
		select {
		case <-l.over:
			return nil
		default:
		}
		if err := l.write(ctx, stream, message); err != nil {
			return err
		}
	}
	return nil
}

// write sends a queued message, in the words that the agent understands.
func (l *agentLink) write(ctx context.Context, stream *agentStream, message *agentpb.ServerMessage) error {
	if message.GetPlan() != nil {
		_ = failpoint.Hit(failpoint.PlanPush) // cannot fail
	}
	for _, m := range l.complete(message) {
		if m = l.understood(ctx, m); m == nil {
			continue
		}
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return nil
}

// refuse returns the error that ends the stream. If the agent must not try again, the error says
// why.
func (l *agentLink) refuse(stream *agentStream) error {
	if l.leaderAddress != "" {
		return stream.Send(&agentpb.ServerMessage{Message: &agentpb.ServerMessage_Redirect{Redirect: &agentpb.Redirect{Address: l.leaderAddress}}})
	}
	if l.reason == "" {
		return connect.NewError(connect.CodeUnavailable, errors.New("connect again"))
	}
	return stream.Send(&agentpb.ServerMessage{Message: &agentpb.ServerMessage_Refused{Refused: l.reason}})
}
