package server

import (
	"net"
	"score/scored/admission"
	"score/scored/peertransport"
	"score/scored/replica"
	"score/scored/rpc"
	"score/scored/state"
	"score/scored/state/statepb"
	"slices"
)

// openReplica opens the state. In a cluster with certificates it is replicated to other servers.
func (s *Server) openReplica() (err error) {
	o := replica.Options{Dir: s.options.DataDir, Logger: s.logger, Observe: s.observe}
	if own := s.options.Credentials; own != nil {
		s.transport = peertransport.New(own, s.agents)
		s.others = s.transport.Calls(s.addressOf)
		o.Network, o.Name, o.Address, o.Start = s.transport, own.Name().Name, s.advertised(), s.options.Start
	}
	s.replica, err = replica.Open(o)
	return err
}

// advertised returns the address at which other hosts reach this server.
func (s *Server) advertised() string {
	if s.options.Advertise != "" {
		return s.options.Advertise
	}
	if _, port, err := net.SplitHostPort(s.options.AgentListen); err == nil && port == "0" {
		return s.agents.String()
	}
	return s.options.AgentListen
}

// openRegistrar starts to admit members, in a cluster with certificates.
func (s *Server) openRegistrar() {
	o := &s.options
	if o.Credentials == nil {
		return
	}
	s.registrar = admission.New(admission.Options{
		Leader: s.leader, Authority: o.Authority, Credentials: o.Credentials, ClusterKey: o.ClusterKey,
		Addresses: s.addresses, IsServer: func(name string) bool { return slices.Contains(s.names(), name) },
		Elsewhere: s.peerRegistrar, Unchanged: rpc.Unchanged, Logger: s.logger,
	})
}

// revoke makes this server reject the certificates with these serial numbers.
func (s *Server) revoke(serials [][]byte) {
	if s.options.Credentials != nil {
		s.options.Credentials.Revoke(serials)
	}
}

// observe applies revocations from the log while another server leads.
func (s *Server) observe(now *state.State, entry *statepb.Entry) {
	if s.options.Credentials == nil || entry != nil && !slices.ContainsFunc(entry.GetCommands(), revokes) {
		return
	}
	s.revoke(now.Revoked())
}

func revokes(c *statepb.Command) bool {
	return c.GetAdmit() != nil || c.GetRevokeCertificates() != nil
}
