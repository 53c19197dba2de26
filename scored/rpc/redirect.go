package rpc

import (
	"context"
	"score/scored/api/agentpb"
	"score/scored/hosttime"
	"slices"
	"time"

	"connectrpc.com/connect"
)

// redirectToLeader redirects an agent to the leader, unless this server leads. While no server
// leads it waits for one, since the agent could only retry.
func (a agents) redirectToLeader(ctx context.Context, link *agentLink) bool {
	if a.Servers == nil {
		return false
	}
	limit := time.NewTimer(electionPatience)
	defer limit.Stop()
	for {
		changed := a.Servers.LeaderChanged()
		name, address := a.Servers.Leader()
		switch {
		case name == a.Servers.Name() || a.Leader.Leads():
			return false
		case name != "":
			link.redirect(address)
			return true
		}
		select {
		case <-changed:
		case <-limit.C:
			link.Close("")
			return true
		case <-ctx.Done():
			return true
		}
	}
}

// redirect ends the link with the address of the server that leads.
func (l *agentLink) redirect(address string) {
	l.once.Do(func() {
		l.leaderAddress = address
		close(l.over)
	})
}

// complete fills in what is known only when a message is sent, and adds the addresses of the
// servers if they have changed since they were last sent.
func (l *agentLink) complete(message *agentpb.ServerMessage) []*agentpb.ServerMessage {
	messages := []*agentpb.ServerMessage{message}
	pong, welcome := message.GetPong(), message.GetWelcome()
	if pong != nil {
		l.stamp(pong)
	}
	if l.addresses == nil || pong == nil && welcome == nil {
		return messages
	}
	now := l.addresses()
	if slices.Equal(now, l.sentAddresses) {
		return messages
	}
	l.sentAddresses = now
	servers := &agentpb.Servers{Addresses: now}
	if welcome != nil {
		welcome.Servers = servers
		return messages
	}
	return append(messages, &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Servers{Servers: servers}})
}

// stamp puts into a pong that leaves what the clocks say.
func (l *agentLink) stamp(pong *agentpb.Pong) {
	arrived := pong.GetTerm()
	pong.Host, pong.BeforeNanos = hosttime.Host(), hosttime.Now()
	pong.ClusterNanos, pong.Term = l.now()
	pong.AfterNanos = hosttime.Now()
	if pong.GetTerm() != arrived {
		pong.ArrivedNanos = pong.GetClusterNanos() // the ping arrived by another clock
	}
}

// FindLeader implements AgentServiceHandler. Its answer may be outdated, but the caller always
// verifies it with the server that it names.
func (a agents) FindLeader(ctx context.Context, r *connect.Request[agentpb.FindLeaderRequest]) (*connect.Response[agentpb.FindLeaderResponse], error) {
	if a.Servers == nil {
		return nil, errAlone
	}
	limit := time.NewTimer(electionPatience)
	defer limit.Stop()
	for {
		changed := a.Servers.LeaderChanged()
		if term, address := a.Servers.LeaderOf(); address != "" && term > r.Msg.GetAfterTerm() {
			return connect.NewResponse(&agentpb.FindLeaderResponse{Term: term, Address: address}), nil
		}
		select {
		case <-changed:
		case <-limit.C:
			return connect.NewResponse(new(agentpb.FindLeaderResponse)), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
