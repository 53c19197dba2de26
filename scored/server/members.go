package server

import (
	"score/scored/admission"
)

// openOffice begins to make members, in a cluster with certificates.
func (s *Server) openOffice() {
	o := &s.options
	if o.Credentials == nil {
		return
	}
	advertise := o.Advertise
	if advertise == "" {
		advertise = o.AgentListen
	}
	s.office = admission.New(admission.Options{
		Leader: s.leader, Authority: o.Authority, Credentials: o.Credentials, ClusterKey: o.ClusterKey,
		Addresses: []string{advertise}, Logger: s.logger,
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
