package server

import (
	"context"
	"fmt"
	"net/http"
	"score/scored/admission"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/protocol"
	"score/scored/rpc"

	"connectrpc.com/connect"
)

// servers returns the cluster's servers, or nil if there can be only one.
func (s *Server) servers() rpc.Servers {
	if s.transport == nil {
		return nil
	}
	return s.replica
}

// addresses returns the addresses of all servers, at least this one's.
func (s *Server) addresses() []string {
	var list []string
	servers, _ := s.replica.Servers() // a closed replica knows none
	for _, server := range servers {
		list = append(list, server.Address)
	}
	if len(list) == 0 {
		return []string{s.advertised()}
	}
	return list
}

// announcedAddresses returns a function that lists the addresses of all servers for agents. It
// returns nil without a transport: agents know the addresses then.
func (s *Server) announcedAddresses() func() []string {
	if s.transport == nil {
		return nil
	}
	return s.addresses
}

// addressOf returns a server's address.
func (s *Server) addressOf(name string) (string, error) {
	servers, err := s.replica.Servers()
	if err != nil {
		return "", err
	}
	for _, server := range servers {
		if server.Name == name {
			return server.Address, nil
		}
	}
	return "", fmt.Errorf("there is no server %s", name)
}

// route makes the leader serve the calls.
func (s *Server) route(users, agents http.Handler) (http.Handler, http.Handler) {
	if s.transport == nil {
		return users, rpc.WithDaemon(agents)
	}
	place := &rpc.Routing{
		Own: s.replica.Name(), Leads: s.leader.Leads, Leader: s.replica.Leader, Changed: s.replica.LeaderChanged,
		Servers: s.names, Others: s.others, Logger: s.logger,
		KeepsKeys: func() bool { return s.leader.Protocol() >= protocol.Keys },
	}
	return rpc.NewRouter(users, place), rpc.NewDaemonHandler(users, agents, place)
}

func (s *Server) names() []string {
	var names []string
	servers, _ := s.replica.Servers() // as above
	for _, server := range servers {
		names = append(names, server.Name)
	}
	return names
}

// peerServer returns a client for the service that servers offer each other.
func (s *Server) peerServer(name string) agentpbconnect.ServerServiceClient {
	return agentpbconnect.NewServerServiceClient(&http.Client{Transport: s.others}, "https://"+name)
}

// peerRegistrar returns the registrar of the leader, nil while this server leads.
func (s *Server) peerRegistrar() admission.PeerRegistrar {
	name, _ := s.replica.Leader()
	if s.leader.Leads() || name == s.replica.Name() || name == "" {
		return nil // without a leader the caller waits here
	}
	return &peerRegistrar{server: s, url: "https://" + name}
}

// peerRegistrar is the registrar of another server.
type peerRegistrar struct {
	server *Server
	url    string
}

func (c *peerRegistrar) client() *http.Client { return &http.Client{Transport: c.server.others} }

// Admit implements admission.PeerRegistrar.
func (c *peerRegistrar) Admit(ctx context.Context, r *agentpb.JoinRequest) (*agentpb.JoinResponse, error) {
	answer, err := agentpbconnect.NewServerServiceClient(c.client(), c.url).Admit(ctx, connect.NewRequest(r))
	if err != nil {
		return nil, err
	}
	return answer.Msg, nil
}

// Renew implements admission.PeerRegistrar.
func (c *peerRegistrar) Renew(ctx context.Context, request []byte) ([]byte, error) {
	answer, err := agentpbconnect.NewAgentServiceClient(
		c.client(),
		c.url,
	).RenewCertificate(
		ctx,
		connect.NewRequest(&agentpb.RenewCertificateRequest{Request: request}),
	)
	if err != nil {
		return nil, err
	}
	return answer.Msg.GetCertificate(), nil
}
