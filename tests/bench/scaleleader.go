package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"score/channels"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/api/transport/h2"
	"score/scored/client"
	"score/scored/server"
	"score/tests/scale"
	"sync"
	"time"

	"connectrpc.com/connect"
)

const (
	// leaderAgents are connected, each by a stream of its own.
	leaderAgents = 256
	// leaderPings each of them sends.
	leaderPings = 100
	// leaderPlans are made.
	leaderPlans = 40
	// leaderCluster and leaderKey are of this process alone.
	leaderCluster, leaderKey = "lab", "key"
)

// recordLeader measures a server of this process, with agents that do nothing but answer: how long
// heartbeats take, and what a plan costs for each agent. What the agents' ends of the streams cost
// is in it, since they share the machine.
func recordLeader(ctx context.Context, b *bench, c *scale.Costs) error {
	s, err := server.New(server.Options{
		UserSocket: b.work + "/leader.sock", AgentListen: "127.0.0.1:0", ClusterKey: leaderKey, ClusterName: leaderCluster, Version: "v1",
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	all.Go(func() { _ = s.Run(ctx) }) // without it no agent is answered
	select {
	case <-s.Ready():
	case <-ctx.Done():
		return ctx.Err()
	}
	agents := make([]*plainAgent, leaderAgents)
	for i := range agents {
		if agents[i], err = joinAgent(ctx, s, i); err != nil {
			return err
		}
		all.Go(agents[i].listen)
	}
	if err := s.WaitForNodes(ctx, leaderAgents); err != nil {
		return err
	}
	if err := recordPings(ctx, agents, c); err != nil {
		return err
	}
	return recordPlans(ctx, b, agents, c)
}

// plainAgent is an agent without a node.
type plainAgent struct {
	stream *connect.BidiStreamForClient[agentpb.AgentMessage, agentpb.ServerMessage]
	pongs  chan int64 // round trips in ns
	plans  chan *agentpb.Plan
	mu     sync.Mutex // of sending
}

func joinAgent(ctx context.Context, s *server.Server, i int) (*plainAgent, error) {
	node := fmt.Sprint("n", i+1)
	own, err := pki.FromKey(leaderKey, pki.Name{Cluster: leaderCluster, Role: pki.Agent, Name: node})
	if err != nil {
		return nil, err
	}
	a := &plainAgent{
		stream: agentpbconnect.NewAgentServiceClient(h2.NewClient(own, pki.Server), s.AgentURL()).Connect(ctx),
		pongs:  make(chan int64, 1), plans: make(chan *agentpb.Plan, 64),
	}
	return a, a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Hello{Hello: &agentpb.Hello{
		Cluster: leaderCluster, Node: node, Address: "127.0.0.1:1", Version: "v1", Cpus: 1, MemoryBytes: 1 << 40, BootId: "b",
	}}})
}

func (a *plainAgent) send(m *agentpb.AgentMessage) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stream.Send(m)
}

// listen answers until the stream ends.
func (a *plainAgent) listen() {
	defer close(a.plans)
	for {
		m, err := a.stream.Receive()
		if err != nil {
			return
		}
		switch m := m.GetMessage().(type) {
		case *agentpb.ServerMessage_Pong:
			a.pongs <- channels.Nanos() - m.Pong.GetAgentNanos()
		case *agentpb.ServerMessage_Prepare:
			_ = a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Prepared{Prepared: &agentpb.Prepared{JobId: m.Prepare.GetJobId()}}})
		case *agentpb.ServerMessage_Plan:
			a.plans <- m.Plan
		}
	}
}

// recordPings measures heartbeats one after the other: agents send theirs at odd moments.
func recordPings(ctx context.Context, agents []*plainAgent, c *scale.Costs) error {
	for range leaderPings {
		for _, a := range agents {
			if err := a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Ping{Ping: &agentpb.Ping{AgentNanos: channels.Nanos()}}}); err != nil {
				return err
			}
			select {
			case took := <-a.pongs:
				c.Message.Record(time.Duration(took / 2))
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// recordPlans changes the slice. Every agent gets a new plan then, since two gangs take turns on
// all nodes.
func recordPlans(ctx context.Context, b *bench, agents []*plainAgent, c *scale.Costs) error {
	users := client.New(b.work + "/leader.sock")
	defer users.Close()
	for range 2 {
		spec := &scorev1.JobSpec{Argv: []string{"a.out"}, WorkDir: "/", Tasks: leaderAgents, Nodes: leaderAgents, Detached: true, StdoutPattern: os.DevNull}
		if _, err := users.Jobs.Submit(ctx, connect.NewRequest(&scorev1.SubmitRequest{Spec: spec})); err != nil {
			return err
		}
	}
	seen, err := plansAfter(ctx, agents, 0)
	if err != nil {
		return err
	}
	var took []float64
	for i := range leaderPlans {
		slice := time.Duration(11+i%2) * time.Millisecond
		start := time.Now()
		if _, err := users.Cluster.SetSettings(ctx, connect.NewRequest(&scorev1.SetSettingsRequest{
			Settings: &scorev1.Settings{SliceNanos: slice.Nanoseconds()}, Fields: []string{"slice_nanos"},
		})); err != nil {
			return err
		}
		if seen, err = plansAfter(ctx, agents, seen); err != nil {
			return err
		}
		took = append(took, float64(time.Since(start).Nanoseconds()))
	}
	c.PlanPerNode = time.Duration(median(took) / leaderAgents)
	return nil
}

// plansAfter waits until every agent has a newer plan in which both gangs take turns.
func plansAfter(ctx context.Context, agents []*plainAgent, version uint64) (newest uint64, err error) {
	for _, a := range agents {
		v, err := a.planAfter(ctx, version)
		if err != nil {
			return 0, err
		}
		newest = max(newest, v)
	}
	return newest, nil
}

func (a *plainAgent) planAfter(ctx context.Context, version uint64) (uint64, error) {
	for {
		select {
		case plan, ok := <-a.plans:
			if !ok {
				return 0, errStreamEnded
			}
			if plan.GetVersion() > version && len(plan.GetRows()) == 2 {
				return plan.GetVersion(), nil
			}
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

var errStreamEnded = errors.New("the server has ended an agent's stream")
