package server

import (
	"net"

	"score/scored/admission"
	"score/scored/mesh"
	"score/scored/replica"
)

// openReplica opens the state; in a cluster with certificates other servers may have copies of it.
func (s *Server) openReplica() (err error) {
	o := replica.Options{Dir: s.options.DataDir, Logger: s.logger}
	if own := s.options.Credentials; own != nil {
		s.mesh = mesh.New(own, s.agents)
		o.Network, o.Name, o.Address, o.Joins = s.mesh, own.Name().Name, s.advertised(), s.options.Joins
	}
	s.replica, err = replica.Open(o)
	return err
}

// advertised is where other hosts find this server.
func (s *Server) advertised() string {
	if s.options.Advertise != "" {
		return s.options.Advertise
	}
	if _, port, err := net.SplitHostPort(s.options.AgentListen); err == nil && port == "0" {
		return s.agents.String()
	}
	return s.options.AgentListen
}

// openOffice begins to make members, in a cluster with certificates.
func (s *Server) openOffice() {
	o := &s.options
	if o.Credentials == nil {
		return
	}
	s.office = admission.New(admission.Options{
		Leader: s.leader, Authority: o.Authority, Credentials: o.Credentials, ClusterKey: o.ClusterKey,
		Addresses: []string{s.advertised()}, Logger: s.logger,
	})
}

// revoke has this server's doors refuse certificates.
func (s *Server) revoke(serials [][]byte) {
	if s.options.Credentials != nil {
		s.options.Credentials.Revoked.Replace(serials)
	}
}

// scheme is that of the URLs of daemons.
func (s *Server) scheme() string {
	if s.options.Credentials != nil {
		return "https"
	}
	return "http"
}
