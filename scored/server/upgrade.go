package server

import (
	"context"
	"errors"
	"net/http"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

const (
	// upgradeCheckInterval is how often the server that leads asks whether all understand a later protocol
	// than the log's. It asks no more when the log is written in the newest that it understands
	// itself.
	upgradeCheckInterval = time.Second
	// describeTimeout bounds the question: a server that does not answer is asked the next time.
	describeTimeout = 2 * time.Second
)

// upgrade has the log be written in the newest protocol that all servers understand, while this one
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

// raise asks all other servers, and raises the log's protocol if each has answered and understands
// a later one.
func (s *Server) raise(ctx context.Context) {
	s.membership.Lock()
	defer s.membership.Unlock()
	newest := protocol.Own().Newest
	names, err := s.members()
	if err != nil {
		return // it is being closed
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

// addServer makes a server a member that understands the log.
func (s *Server) addServer(name string, request *scorev1.EnrolRequest) (voter bool, err error) {
	s.membership.Lock()
	defer s.membership.Unlock()
	if refusal := s.leader.MayBeServer(name, request.GetProgram()); refusal != "" {
		return false, connect.NewError(connect.CodeFailedPrecondition, errors.New(refusal))
	}
	return s.replica.Enrol(name, request.GetAddress(), request.GetLast())
}

// members are the servers of the cluster; one without certificates has but this.
func (s *Server) members() ([]string, error) {
	if s.mesh == nil {
		return nil, nil
	}
	servers, err := s.replica.Servers()
	names := make([]string, 0, len(servers))
	for _, server := range servers {
		names = append(names, server.Name)
	}
	return names, err
}

// describe asks a server of which version it is. One that does not know the question speaks the
// first protocol.
func (s *Server) describe(ctx context.Context, name string) (*scorev1.ProgramVersion, error) {
	if s.mesh == nil || name == s.replica.Name() {
		return s.program(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	client := scorev1connect.NewServerServiceClient(&http.Client{Transport: s.others}, "https://"+name)
	answer, err := client.Describe(ctx, connect.NewRequest(&scorev1.DescribeRequest{}))
	switch connect.CodeOf(err) {
	case connect.CodeUnimplemented, connect.CodePermissionDenied: // its table has no such method
		return &scorev1.ProgramVersion{ProtocolOldest: protocol.First, ProtocolNewest: protocol.First}, nil
	default:
		if err != nil {
			return nil, err
		}
		return answer.Msg.GetProgram(), nil
	}
}

// program returns what this server is.
func (s *Server) program() *scorev1.ProgramVersion { return programOf(s.options.Version) }

func programOf(build string) *scorev1.ProgramVersion {
	own := protocol.Own()
	return &scorev1.ProgramVersion{Build: build, ProtocolOldest: own.Oldest, ProtocolNewest: own.Newest}
}
