package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/join"
	"score/scored/api/identity/pki"
	"score/scored/api/transport/h2"
	"score/scored/replica"
	"score/scored/state"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

const (
	// enrolInterval is the time between two requests of a server without a vote to become a member.
	enrolInterval = 200 * time.Millisecond
	// memberCheckInterval is how often a member checks that it still is one.
	memberCheckInterval = time.Second
	// enrolTimeout bounds one request: changes of the membership are made one at a time.
	enrolTimeout = 15 * time.Second
	// enrolLogInterval is how often the log says why this server is not a member.
	enrolLogInterval = 10 * time.Second
	// leaderlessLimit is the time without a leader after which a server asks the others whether it
	// was removed; it is longer than an election.
	leaderlessLimit = 3 * time.Second
	// removedTimeout bounds these questions.
	removedTimeout = 3 * time.Second
)

// ErrRemoved ends a server that an administrator has removed from the cluster.
var ErrRemoved = errors.New(
	"this server was removed from the cluster; to make it a member again, remove its certificates and its data_dir, and join it with a new token",
)

// membership is what a server remembers between two checks of its membership.
type membership struct {
	member     bool      // it has been a member
	leaderSeen time.Time // when it last knew of a leader, or asked whether it was removed
	loggedAt   time.Time // when the log last said why it is not a member
}

// maintainMembership makes this server a voting member at its address, and returns ErrRemoved once
// it is removed.
func (s *Server) maintainMembership(ctx context.Context) error {
	m := membership{leaderSeen: time.Now()}
	for {
		pause, err := s.checkMembership(ctx, &m)
		if err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}

// checkMembership asks for membership if this server has none. It returns the time until the next
// check, or ErrRemoved.
func (s *Server) checkMembership(ctx context.Context, m *membership) (pause time.Duration, err error) {
	if err := s.checkRemoved(ctx, m); err != nil {
		return 0, err
	}
	us, known := s.self()
	switch {
	case m.member && !known:
		return 0, ErrRemoved
	case known && us.Voter && us.Address == s.advertised():
		if !m.member {
			s.becomeMember(us)
		}
		m.member = true
		s.recordOwnCertificate(ctx)
		return memberCheckInterval, nil
	}
	if err := s.enrol(ctx); err != nil && time.Since(m.loggedAt) > enrolLogInterval {
		m.loggedAt = time.Now()
		s.logger.Warn("this server is not a member of the cluster yet", zap.Error(err))
	}
	return enrolInterval, nil
}

// checkRemoved returns ErrRemoved if this server has known no leader for leaderlessLimit, and was
// removed.
func (s *Server) checkRemoved(ctx context.Context, m *membership) error {
	if name, _ := s.replica.Leader(); name != "" {
		m.leaderSeen = time.Now()
	}
	if time.Since(m.leaderSeen) <= leaderlessLimit {
		return nil
	}
	if s.wasRemoved(ctx) {
		return ErrRemoved
	}
	m.leaderSeen = time.Now()
	return nil
}

// becomeMember reports that this server has a vote.
func (s *Server) becomeMember(us replica.Server) {
	s.logger.Info("this server has a vote", zap.String("server", us.Name), zap.String("address", us.Address))
	if s.options.OnMember != nil {
		s.options.OnMember()
	}
}

// wasRemoved asks all other servers whether this server's certificate was revoked, as it is when a
// server is removed. A server that was down at that time does not learn it from the log, and the
// others refuse its connections.
func (s *Server) wasRemoved(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, removedTimeout)
	defer cancel()
	var asked sync.WaitGroup
	var revoked atomic.Bool
	for _, address := range s.otherAddresses() {
		asked.Go(func() {
			is, err := join.Revoked(ctx, address, s.options.Credentials)
			if err != nil {
				return // the server is down, or too old to answer
			}
			if is {
				revoked.Store(true)
			}
		})
	}
	asked.Wait()
	return revoked.Load()
}

// otherAddresses returns the addresses of the other servers from the log and the configuration.
func (s *Server) otherAddresses() []string {
	servers := s.options.Servers
	if known, err := s.replica.Servers(); err == nil && len(known) > 0 {
		servers = append(s.addresses(), servers...)
	}
	servers = slices.DeleteFunc(slices.Clone(servers), func(address string) bool { return address == s.advertised() })
	slices.Sort(servers)
	return slices.Compact(servers)
}

// recordOwnCertificate records the certificate that init made in the log, so that it can be
// revoked.
func (s *Server) recordOwnCertificate(ctx context.Context) {
	if !s.leader.Leads() {
		return
	}
	own, known := s.options.Credentials, false
	s.replica.Read(func(now *state.State) { known = now.Certificate(own.Serial()) != nil })
	if known {
		return
	}
	record := &state.Certificate{Serial: own.Serial(), Role: string(pki.Server), Name: own.Name().Name, Expires: own.Expires().UnixNano()}
	if err := s.leader.Renewed(ctx, record); err != nil && ctx.Err() == nil {
		s.logger.Warn("this server's certificate could not be recorded in the log", zap.Error(err))
	}
}

// self returns this server as the log knows it.
func (s *Server) self() (replica.Server, bool) {
	servers, err := s.replica.Servers()
	if err != nil {
		return replica.Server{Voter: true, Address: s.advertised()}, true // the replica is closing
	}
	i := slices.IndexFunc(servers, func(x replica.Server) bool { return x.Name == s.replica.Name() })
	if i < 0 {
		return replica.Server{}, false
	}
	return servers[i], true
}

// enrol asks the leader, or any server if none is known, to make this server a member.
func (s *Server) enrol(ctx context.Context) error {
	name, _ := s.replica.Leader()
	if name == s.replica.Name() {
		_, err := s.replica.Enrol(name, s.advertised(), s.replica.LastIndex())
		return err
	}
	if name != "" {
		return s.askEnrol(ctx, &http.Client{Transport: s.others}, "https://"+name)
	}
	servers := s.otherAddresses()
	if len(servers) == 0 {
		return errors.New("it knows no other server; set agent.servers, or join it with a token")
	}
	transport := h2.NewTransport(s.options.Credentials, pki.Server)
	defer transport.CloseIdleConnections()
	var errs []error
	for _, address := range servers {
		err := s.askEnrol(ctx, &http.Client{Transport: transport}, "https://"+address)
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", address, err))
	}
	return errors.Join(errs...)
}

func (s *Server) askEnrol(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, enrolTimeout)
	defer cancel()
	request := &agentpb.EnrolRequest{Address: s.advertised(), Last: s.replica.LastIndex(), Program: s.program()}
	_, err := agentpbconnect.NewServerServiceClient(client, url).Enrol(ctx, connect.NewRequest(request))
	return err
}
