package server

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"score/scored/admission"
	"score/scored/api"
	"score/scored/api/identity/pki"
	"score/scored/api/transport/h2"
	"score/scored/api/transport/handshake"
	"score/scored/api/transport/socket"
	"score/scored/leader"
	"score/scored/metrics"
	"score/scored/peertransport"
	"score/scored/replica"
	"score/scored/rpc"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

// Server is one server of the cluster. Make it with New and run it once.
type Server struct {
	options   Options
	own       *pki.Credentials // Options.Credentials, or derived from the key
	logger    *zap.Logger
	replica   *replica.Replica
	leader    *leader.Leader
	metrics   *metrics.Set
	peers     *http.Transport // to the agents
	endpoints []endpoint
	agents    net.Addr
	scraped   net.Addr                 // nil: metrics are not served
	registrar *admission.Registrar     // nil: daemons have no certificates
	transport *peertransport.Transport // with the other servers; nil: there can be none
	streams   net.Listener             // of the transport
	others    *http.Transport          // to the other servers, by name; nil: likewise
	// membership is held while a server becomes a member, and while all are asked for their
	// protocols: no server may join during the question.
	membership sync.Mutex
}

// New checks the options, opens the state and binds every address, so that errors show before
// anything is served. Each error is one sentence; those caused by the configuration wrap
// ErrOptions.
func New(options Options) (*Server, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	own := options.Credentials
	if own == nil {
		if own, err = pki.FromKey(options.ClusterKey, pki.Name{Cluster: options.ClusterName, Role: pki.Server, Name: keyServer}); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOptions, err)
		}
	}
	s := &Server{options: options, own: own, logger: options.Logger, peers: h2.NewTransport(own, pki.Agent)}
	listener, err := listenAgents(options.AgentListen)
	if err != nil {
		return nil, err
	}
	s.agents = listener.Addr()
	if err := s.openReplica(); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	err = s.compose()
	if err == nil {
		err = s.listen(listener)
	}
	if err != nil {
		return nil, errors.Join(err, listener.Close(), s.Close())
	}
	return s, nil
}

// keyServer is the name of the one server of a cluster without certificates.
const keyServer = "server"

// compose makes the parts and connects them.
func (s *Server) compose() error {
	switches := metrics.NewSwitches()
	secret, err := s.jobSecret()
	if err != nil {
		return err
	}
	s.leader = leader.New(leader.Options{
		Replica:        s.replica,
		Cluster:        s.options.ClusterName,
		Version:        s.options.Version,
		Settings:       s.options.Settings,
		JobSecret:      secret,
		SingleUser:     s.options.SingleUser,
		ShareCPUs:      s.options.ShareCPUs,
		StartNodes:     s.options.StartNodes,
		ObserveCommit:  func(d time.Duration) { s.metrics.ObserveCommit(d) },
		ObserveRevoked: s.revoke,
		Logger:         s.logger,
	})
	s.openRegistrar()
	s.metrics = metrics.New(metrics.Sources{Stats: s.leader.Stats, Shares: s.leader.Shares, Switches: switches})
	users := rpc.NewUsers(rpc.UserOptions{
		Leader: s.leader, Switches: switches,
		Agents: &http.Client{Transport: api.WholeMessages(s.peers)}, ExpectAgent: s.own.ExpectAgent,
		Registrar: s.registrar, Servers: s.servers(), PeerServer: s.peerServer,
		Describe: s.describe, Program: s.program(),
		CountError: s.metrics.CountError, Logger: s.logger,
	})
	agents := rpc.NewAgents(rpc.AgentOptions{
		Leader: s.leader, Switches: switches, Registrar: s.registrar,
		Servers: s.servers(), AddServer: s.addServer, Addresses: s.announcedAddresses(), Program: s.program(),
		CountError: s.metrics.CountError, Logger: s.logger,
	})
	users, agents = s.route(users, agents)
	scrape := http.NewServeMux()
	scrape.Handle("GET /metrics", s.metrics.Handler())
	s.endpoints = []endpoint{
		newEndpoint(h2.NewSocketServer, users, s.logger), newEndpoint(h2.NewServer, agents, s.logger), newEndpoint(h2.NewServer, scrape, s.logger),
	}
	s.endpoints[usersEndpoint].server.ConnContext = rpc.ConnContext
	return nil
}

// jobSecretLabel separates the jobs' keys from other keys that are derived from the same secret.
const jobSecretLabel = "score server: secret of all jobs' keys, 1"

// jobSecret returns a secret that only servers have. It is derived from the authority's key or,
// without an authority, from the cluster's key.
func (s *Server) jobSecret() ([]byte, error) {
	secret := []byte(s.options.ClusterKey)
	if authority := s.options.Authority; authority != nil {
		var err error
		if secret, err = authority.Key(); err != nil {
			return nil, err
		}
	}
	return hkdf.Key(sha256.New, secret, []byte(s.options.ClusterName), jobSecretLabel, sha256.Size)
}

// Indices of Server.endpoints.
const (
	usersEndpoint = iota
	agentsEndpoint
	metricsEndpoint
)

func (s *Server) listen(agents net.Listener) error {
	if s.registrar == nil {
		s.endpoints[agentsEndpoint].listener = handshake.Listen(agents, s.own.ServerSide(h2.Protocol, pki.Agent), s.logger)
	} else {
		listener := s.registrar.Listen(agents,
			admission.Route{Protocols: []string{h2.Protocol}, Roles: []pki.Role{pki.Agent, pki.Server}},
			admission.Route{Protocols: []string{peertransport.Protocol}, Roles: []pki.Role{pki.Server}})
		s.endpoints[agentsEndpoint].listener, s.streams = listener.Of(h2.Protocol), listener.Of(peertransport.Protocol)
	}
	if path := s.options.UserSocket; path != "" {
		listener, err := socket.Listen("socket", path, socket.Everybody)
		if err != nil {
			return err
		}
		s.endpoints[usersEndpoint].listener = socket.NewConnLimiter(listener, socket.MaxConnections, s.logger)
	}
	return s.listenMetrics()
}

// Run serves until ctx ends, then stops everything and returns nil. It returns an error if serving
// cannot go on.
func (s *Server) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	leaderStopped := make(chan struct{})
	group.Go(func() error {
		defer close(leaderStopped)
		return s.leader.Run(ctx)
	})
	group.Go(func() error { return s.watchReplica(ctx) })
	group.Go(func() error { return s.upgrade(ctx) })
	if s.registrar != nil {
		group.Go(func() error {
			s.registrar.KeepOwn(ctx, s.options.CertificateDir)
			return nil
		})
	}
	if s.transport != nil {
		group.Go(func() error { return unlessClosed(s.transport.Serve(s.streams)) })
		group.Go(func() error { return s.maintainMembership(ctx) })
	}
	for _, e := range s.endpoints {
		if e.listener == nil {
			continue
		}
		group.Go(e.serve)
		group.Go(func() error {
			<-leaderStopped
			return e.stop()
		})
	}
	if s.options.MetricsAddress != "" && s.scraped == nil {
		group.Go(func() error { return s.serveMetricsLater(ctx, leaderStopped) })
	}
	s.logger.Info("server started", zap.String("cluster", s.options.ClusterName), zap.Stringer("agents", s.agents), zap.String("socket", s.options.UserSocket))
	err := group.Wait()
	s.logger.Info("server stopped")
	return errors.Join(err, s.Close())
}

// watchReplica waits until ctx ends or the replica fails.
func (s *Server) watchReplica(ctx context.Context) error {
	select {
	case <-s.replica.Failed():
		return s.replica.Err()
	case err := <-s.replica.TooOld():
		return err
	case <-ctx.Done():
		return nil
	}
}

// Close releases what New acquired. It is for servers that are never run.
func (s *Server) Close() error {
	s.peers.CloseIdleConnections()
	if s.others != nil {
		s.others.CloseIdleConnections()
	}
	var errs []error
	for _, e := range s.endpoints {
		if e.listener != nil {
			errs = append(errs, unlessClosed(e.listener.Close()))
		}
	}
	return errors.Join(errors.Join(errs...), s.replica.Close())
}

// Failed is closed when the disk of the data directory fails. Run then returns an error that wraps
// replica.ErrDisk, unless a blocked disk operation keeps it from that.
func (s *Server) Failed() <-chan struct{} { return s.replica.Failed() }

// Ready is closed once the server leads and answers calls.
func (s *Server) Ready() <-chan struct{} { return s.leader.Leading() }

// Alive returns nil once the server can get a decision, whichever server leads.
func (s *Server) Alive(ctx context.Context) error { return s.leader.Alive(ctx) }

// AgentURL returns the base URL of the service for agents, with the actual port. For a Unix socket
// only DialAgents can connect to it.
func (s *Server) AgentURL() string {
	if s.agents.Network() == "unix" {
		return "https://" + unixHost
	}
	return "https://" + s.agents.String()
}

// DialAgents connects to AgentURL, also if it is a Unix socket.
func (s *Server) DialAgents(ctx context.Context, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, s.agents.Network(), s.agents.String())
}

// MetricsAddress returns the address of the metrics with the actual port, or "".
func (s *Server) MetricsAddress() string {
	if s.scraped == nil {
		return ""
	}
	return s.scraped.String()
}

// WaitForNodes waits until count nodes are connected. It is for clusters in one process that submit
// a job at once.
func (s *Server) WaitForNodes(ctx context.Context, count int) error {
	ticker := time.NewTicker(nodePollInterval)
	defer ticker.Stop()
	for {
		stats, err := s.leader.Stats(ctx)
		if err != nil {
			return err
		}
		if stats.NodesUp >= count {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// nodePollInterval is how often WaitForNodes checks.
const nodePollInterval = time.Millisecond

// unixHost stands for a Unix socket in URLs; it is never resolved.
const unixHost = "agents.invalid"

// isUnix returns the path of an address that names a Unix socket.
func isUnix(address string) (path string, ok bool) { return strings.CutPrefix(address, UnixPrefix) }
