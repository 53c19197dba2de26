package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"score/channels"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/join"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/api/transport/h2"
	"score/tests/daemons"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
)

// stubPing is how often agents give a sign of life.
const stubPing = 500 * time.Millisecond

// stubAgents are agents without nodes. They prepare and launch jobs at once, and the jobs run for
// ever.
type stubAgents struct {
	cancel  context.CancelFunc
	all     sync.WaitGroup
	mu      sync.Mutex
	running map[uint64]bool
}

// stubAgent is one of the stubAgents.
type stubAgent struct {
	stubs    *stubAgents
	stream   *connect.BidiStreamForClient[agentpb.AgentMessage, agentpb.ServerMessage]
	mu       sync.Mutex // of sending
	launched map[uint64]bool
}

func startStubAgents(ctx context.Context, c *daemons.Cluster) (*stubAgents, error) {
	version, err := c.Cluster.GetVersion(ctx, connect.NewRequest(&scorev1.GetVersionRequest{}))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	k := &stubAgents{cancel: cancel, running: make(map[uint64]bool)}
	hello := &agentpb.Hello{
		Cluster: c.Name, Address: "127.0.0.1:1", Version: version.Msg.GetVersion(), Cpus: submitRunning / submitNodes,
		MemoryBytes: 1 << 40, BootId: "b",
	}
	for i := range submitNodes {
		hello.Node = fmt.Sprint("n", i+1)
		if err := k.join(ctx, c, hello); err != nil {
			k.stop()
			return nil, err
		}
	}
	return k, nil
}

// stubClient returns the first server's URL and a client for an agent.
func stubClient(ctx context.Context, c *daemons.Cluster, name string) (url string, client *http.Client, err error) {
	if len(c.Servers) == 1 {
		secret, err := os.ReadFile(c.KeyFile())
		if err != nil {
			return "", nil, err
		}
		own, err := pki.FromKey(strings.TrimSpace(string(secret)), pki.Name{Cluster: c.Name, Role: pki.Agent, Name: name})
		return "https://" + c.AgentsListen(), h2.NewClient(own, pki.Server), err
	}
	text, err := c.Token(ctx, "agent")
	if err != nil {
		return "", nil, err
	}
	token, err := pki.ParseToken(text)
	if err != nil {
		return "", nil, err
	}
	member, err := join.Join(ctx, token, name, time.Now)
	if err != nil {
		return "", nil, err
	}
	return "https://" + c.AgentsListen(), h2.NewClient(member.Credentials, pki.Server), nil
}

// join waits until the server has taken the agent.
func (k *stubAgents) join(ctx context.Context, c *daemons.Cluster, hello *agentpb.Hello) error {
	url, client, err := stubClient(ctx, c, hello.GetNode())
	if err != nil {
		return err
	}
	a := &stubAgent{
		stubs: k, launched: make(map[uint64]bool), stream: agentpbconnect.NewAgentServiceClient(client, url).Connect(ctx),
	}
	if err := a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Hello{Hello: hello}}); err != nil {
		return err
	}
	first, err := a.stream.Receive()
	if err != nil {
		return err
	}
	if first.GetWelcome() == nil {
		return fmt.Errorf("%w: agent %s: %s", errNotTaken, hello.GetNode(), first.GetRefused())
	}
	k.all.Go(func() {
		defer client.CloseIdleConnections()
		a.listen()
	})
	k.all.Go(func() { a.live(ctx) })
	return nil
}

var errNotTaken = errors.New("the server does not take an agent")

func (a *stubAgent) send(m *agentpb.AgentMessage) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stream.Send(m)
}

// live gives signs of life.
func (a *stubAgent) live(ctx context.Context) {
	tick := time.NewTicker(stubPing)
	defer tick.Stop()
	for {
		ping := &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Ping{Ping: &agentpb.Ping{AgentNanos: channels.Nanos()}}}
		if a.send(ping) != nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// listen answers until the stream ends.
func (a *stubAgent) listen() {
	for {
		m, err := a.stream.Receive()
		if err != nil {
			return
		}
		if p := m.GetPrepare(); p != nil {
			_ = a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Prepared{Prepared: &agentpb.Prepared{JobId: p.GetJobId()}}})
		}
		for _, row := range m.GetPlan().GetRows() {
			for _, id := range row.GetJobs() {
				a.launch(id)
			}
		}
	}
}

func (a *stubAgent) launch(id uint64) {
	if a.launched[id] {
		return
	}
	a.launched[id] = true
	_ = a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Launched{Launched: &agentpb.Launched{JobId: id, AtNanos: 1}}})
	a.stubs.mu.Lock()
	defer a.stubs.mu.Unlock()
	a.stubs.running[id] = true
}

// awaitRunning waits until that number of jobs has been launched.
func (k *stubAgents) awaitRunning(ctx context.Context, jobs int) error {
	return daemons.Await(ctx, fmt.Sprint(jobs, " jobs run"), func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return len(k.running) >= jobs
	})
}

// stop ends all streams.
func (k *stubAgents) stop() {
	k.cancel()
	k.all.Wait()
}
