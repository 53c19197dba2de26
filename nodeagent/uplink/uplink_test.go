package uplink_test

import (
	"context"
	"errors"
	"score/nodeagent/clock"
	"score/nodeagent/leadertest"
	"score/nodeagent/uplink"
	"score/scored/api/agentpb"
	"score/scored/api/transport/h2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// node records what a link tells it.
type node struct {
	welcomes chan *agentpb.Welcome
	messages chan *agentpb.ServerMessage
	lost     chan struct{}
	samples  chan uint64 // terms
	welcome  *agentpb.Welcome

	onWelcome func() // nil: nothing
}

func newNode() *node {
	return &node{
		welcomes: make(chan *agentpb.Welcome, 16),
		messages: make(chan *agentpb.ServerMessage, 16),
		lost:     make(chan struct{}, 16),
		samples:  make(chan uint64, 1024),
	}
}

func (n *node) Welcome(w *agentpb.Welcome) {
	n.welcome = w
	if n.onWelcome != nil {
		n.onWelcome()
	}
}
func (n *node) Opened()                          { n.welcomes <- n.welcome }
func (n *node) Message(m *agentpb.ServerMessage) { n.messages <- m }
func (n *node) Lost()                            { n.lost <- struct{}{} }

func (n *node) Sample(term uint64, sent int64, s clock.Sample) {
	if s.Received >= sent && s.Arrived != 0 && s.Left >= s.Arrived {
		n.samples <- term
	}
}
func (n *node) Reading() (offset, errorBound, roundTrip int64) { return 1, 2, 3 }

var began = time.Now()

// run runs a link until the test ends; the result of Run comes by the channel.
func run(t *testing.T, n *node, servers ...string) (*uplink.Link, <-chan error) {
	t.Helper()
	link := uplink.New(uplink.Options{
		Servers: servers,
		Client:  h2.NewClient(nil),
		Hello:   func() *agentpb.Hello { return &agentpb.Hello{Node: "n1", Cluster: "lab", Version: "1"} },
		Handler: n,
		Clock:   n,
		Now:     func() int64 { return time.Since(began).Nanoseconds() },
	})
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	var ended sync.WaitGroup
	ended.Go(func() { result <- link.Run(ctx) })
	t.Cleanup(func() { cancel(); ended.Wait() })
	return link, result
}

func await[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(leadertest.Timeout):
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}

func note(text string) *agentpb.AgentMessage {
	return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Note{Note: &agentpb.JobNote{Text: text}}}
}

func kill(job uint64) *agentpb.ServerMessage {
	return &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Kill{Kill: &agentpb.Kill{JobId: job}}}
}

func TestMessagesPassBothWays(t *testing.T) {
	leader := leadertest.Start(t, leadertest.Options{})
	n := newNode()
	link, _ := run(t, n, leader.URL())
	session := leader.Next(t)
	if session.Hello.GetNode() != "n1" {
		t.Errorf("Hello = %v", session.Hello)
	}
	if w := await(t, "welcome", n.welcomes); w.GetTerm() != 1 {
		t.Errorf("Welcome = %v", w)
	}
	session.Send(kill(7))
	if m := await(t, "message", n.messages); m.GetKill().GetJobId() != 7 {
		t.Errorf("received %v", m)
	}
	for _, text := range []string{"a", "b", "c"} {
		link.Send(note(text))
	}
	for _, want := range []string{"a", "b", "c"} {
		if got := session.Receive(t).GetNote().GetText(); got != want {
			t.Errorf("received %q, want %q", got, want)
		}
	}
}

// A new leader may use the number of a job that it does not know: what the node says about the job
// before it has ended it does not reach the leader.
func TestNothingIsSentBeforeTheWelcomeIsHandled(t *testing.T) {
	leader := leadertest.Start(t, leadertest.Options{})
	n := newNode()
	var link atomic.Pointer[uplink.Link]
	ready := make(chan struct{})
	n.onWelcome = func() { <-ready; link.Load().Send(note("early")) }
	started, _ := run(t, n, leader.URL())
	link.Store(started)
	close(ready)
	session := leader.Next(t)
	await(t, "welcome", n.welcomes)
	started.Send(note("in time"))
	if got := session.Receive(t).GetNote().GetText(); got != "in time" {
		t.Errorf("received %q", got)
	}
}

func TestHeartbeatCarriesTheReading(t *testing.T) {
	leader := leadertest.Start(t, leadertest.Options{})
	n := newNode()
	run(t, n, leader.URL())
	session := leader.Next(t)
	for i := range uint64(6) {
		ping := session.Ping(t)
		if ping.GetSequence() != i+1 || ping.GetOffsetNanos() != 1 || ping.GetErrorNanos() != 2 || ping.GetRoundTripNanos() != 3 {
			t.Errorf("ping %d = %v", i+1, ping)
		}
		if term := await(t, "sample", n.samples); term != 1 {
			t.Errorf("sample of term %d", term)
		}
	}
}

func TestBrokenStreamIsReplaced(t *testing.T) {
	leader := leadertest.Start(t, leadertest.Options{})
	n := newNode()
	link, _ := run(t, n, leader.URL())
	first := leader.Next(t)
	await(t, "welcome", n.welcomes)
	first.Drop()
	await(t, "loss", n.lost)
	link.Send(note("lost")) // no stream: dropped

	second := leader.Next(t)
	await(t, "welcome", n.welcomes)
	link.Send(note("kept"))
	if got := second.Receive(t).GetNote().GetText(); got != "kept" {
		t.Errorf("received %q", got)
	}
}

func TestSilentLeaderIsLeft(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the silence timeout")
	}
	var mute atomic.Bool
	mute.Store(true)
	leader := leadertest.Start(t, leadertest.Options{Mute: &mute})
	n := newNode()
	run(t, n, leader.URL())
	first := leader.Next(t)
	await(t, "loss", n.lost)
	await(t, "end of the first stream", first.Gone())
	mute.Store(false)
	leader.Next(t)
}

func TestRefusalEndsRun(t *testing.T) {
	const sentence = "a node named n1 is connected already"
	leader := leadertest.Start(t, leadertest.Options{Refuse: func(*agentpb.Hello) string { return sentence }})
	_, result := run(t, newNode(), leader.URL())
	err := await(t, "end of Run", result)
	if !errors.Is(err, uplink.ErrRefused) || !strings.Contains(err.Error(), sentence) {
		t.Errorf("Run = %v", err)
	}
}

func TestWrongKeyEndsRun(t *testing.T) {
	leader := leadertest.Start(t, leadertest.Options{HandlerOptions: []connect.HandlerOption{
		connect.WithInterceptors(rejecting{}),
	}})
	_, result := run(t, newNode(), leader.URL())
	err := await(t, "end of Run", result)
	if !errors.Is(err, uplink.ErrRefused) || !strings.Contains(err.Error(), "key_file") {
		t.Errorf("Run = %v", err)
	}
}

// rejecting lets nobody in.
type rejecting struct{}

func (rejecting) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return next }
func (rejecting) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (rejecting) WrapStreamingHandler(connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(context.Context, connect.StreamingHandlerConn) error {
		return connect.NewError(connect.CodeUnauthenticated, errors.New("wrong key"))
	}
}

func TestNextServerIsTried(t *testing.T) {
	dead := leadertest.Start(t, leadertest.Options{})
	dead.Stop()
	leader := leadertest.Start(t, leadertest.Options{})
	n := newNode()
	run(t, n, dead.URL(), leader.URL())
	leader.Next(t)
	await(t, "welcome", n.welcomes)
}

func TestEndOfContextIsNoError(t *testing.T) {
	dead := leadertest.Start(t, leadertest.Options{})
	dead.Stop()
	for name, url := range map[string]string{
		"no server":   dead.URL(),
		"with stream": leadertest.Start(t, leadertest.Options{}).URL(),
	} {
		t.Run(name, func(t *testing.T) {
			link := uplink.New(uplink.Options{
				Servers: []string{url},
				Client:  h2.NewClient(nil),
				Hello:   func() *agentpb.Hello { return &agentpb.Hello{} },
				Handler: newNode(),
				Clock:   newNode(),
				Now:     func() int64 { return 0 },
			})
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer cancel()
			if err := link.Run(ctx); err != nil {
				t.Errorf("Run = %v", err)
			}
		})
	}
}

// A server that does not lead redirects a node, and nodes find servers that only others know.
func TestServersSendOn(t *testing.T) {
	leader := leadertest.Start(t, leadertest.Options{})
	follower := leadertest.Start(t, leadertest.Options{Redirect: leader.Address})
	n := newNode()
	link, _ := run(t, n, follower.URL())
	leader.Next(t)
	await(t, "welcome", n.welcomes)
	if got := link.Servers(); len(got) != 1 {
		t.Errorf("servers %v", got)
	}

	next := leadertest.Start(t, leadertest.Options{})
	last := leadertest.Start(t, leadertest.Options{Servers: []string{next.Address(), "http://rubbish", ""}})
	n = newNode()
	link, _ = run(t, n, last.URL())
	last.Next(t)
	await(t, "welcome", n.welcomes)
	if got := link.Servers(); len(got) != 2 || got[1] != next.URL() {
		t.Errorf("servers %v", got)
	}
	last.Stop()
	await(t, "loss", n.lost)
	next.Next(t)
	await(t, "welcome of the other", n.welcomes)
}

// Servers that send a node to each other are asked now and then, not all the time; a leader that
// was succeeded is not obeyed.
func TestOldLeaderIsNotObeyed(t *testing.T) {
	old := leadertest.Start(t, leadertest.Options{})
	next := leadertest.Start(t, leadertest.Options{})
	next.SetTerm(5)
	n := newNode()
	run(t, n, next.URL(), old.URL())
	next.Next(t)
	if w := await(t, "welcome", n.welcomes); w.GetTerm() != 5 {
		t.Errorf("welcomed in term %d", w.GetTerm())
	}
	next.Stop()
	await(t, "loss", n.lost)
	old.Next(t) // it says welcome
	old.Next(t) // and again
	select {
	case w := <-n.welcomes:
		t.Errorf("welcomed in term %d", w.GetTerm())
	default:
	}
}
