package server

import (
	"context"
	"errors"
	"net/http"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

const (
	// upgradeCheckInterval is how often the leader asks whether all servers understand a later
	// protocol than the log's. It stops once the log is in the newest that the leader understands.
	upgradeCheckInterval = time.Second
	// describeTimeout bounds a question; a server that does not answer is asked again.
	describeTimeout = 2 * time.Second
)

// upgrade switches the log to the newest protocol that all servers understand, while this one
// leads.
func (s *Server) upgrade(ctx context.Context) error {
	for {
		if s.leader.Leads() && s.leader.Protocol() < protocol.Own().Newest {
			s.raise(ctx)
		}
		select {
		case <-time.After(upgradeCheckInterval):
		case <-ctx.Done():
			return nil
		}
	}
}

// raise asks all other servers for their protocols. If all answer and understand a later protocol
// than the log's, it switches the log.
func (s *Server) raise(ctx context.Context) {
	s.membership.Lock()
	defer s.membership.Unlock()
	newest := protocol.Own().Newest
	names, err := s.members()
	if err != nil {
		return // the replica is closing
	}
	for _, name := range names {
		program, err := s.describe(ctx, name)
		if err != nil {
			return
		}
		newest = min(newest, protocol.Of(program.GetProtocolOldest(), program.GetProtocolNewest()).Newest)
	}
	if newest <= s.leader.Protocol() {
		return
	}
	if err := s.leader.Raise(ctx, newest); err != nil {
		s.logger.Debug("the log's protocol was not raised", zap.Error(err))
	}
}

// addServer makes a server a member if it understands the log.
func (s *Server) addServer(name string, request *agentpb.EnrolRequest) (voter bool, err error) {
	s.membership.Lock()
	defer s.membership.Unlock()
	if refusal := s.leader.MayBeServer(name, request.GetProgram()); refusal != "" {
		return false, connect.NewError(connect.CodeFailedPrecondition, errors.New(refusal))
	}
	return s.replica.Enrol(name, request.GetAddress(), request.GetLast())
}

// members returns the names of the cluster's servers, none without certificates.
func (s *Server) members() ([]string, error) {
	if s.transport == nil {
		return nil, nil
	}
	servers, err := s.replica.Servers()
	names := make([]string, 0, len(servers))
	for _, server := range servers {
		names = append(names, server.Name)
	}
	return names, err
}

// describe asks a server for its version. A server that does not know the question uses the first
// protocol.
func (s *Server) describe(ctx context.Context, name string) (*scorev1.ProgramVersion, error) {
	if s.transport == nil || name == s.replica.Name() {
		return s.program(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	client := agentpbconnect.NewServerServiceClient(&http.Client{Transport: s.others}, "https://"+name)
	answer, err := client.Describe(ctx, connect.NewRequest(&agentpb.DescribeRequest{}))
	switch connect.CodeOf(err) {
	case connect.CodeUnimplemented, connect.CodePermissionDenied: // the server does not know the method
		return &scorev1.ProgramVersion{ProtocolOldest: protocol.First, ProtocolNewest: protocol.First}, nil
	default:
		if err != nil {
			return nil, err
		}
		return answer.Msg.GetProgram(), nil
	}
}

// program returns this server's version.
func (s *Server) program() *scorev1.ProgramVersion { return programOf(s.options.Version) }

func programOf(build string) *scorev1.ProgramVersion {
	own := protocol.Own()
	return &scorev1.ProgramVersion{Build: build, ProtocolOldest: own.Oldest, ProtocolNewest: own.Newest}
}
