// Package peertransport makes the connections between the servers of a cluster: the streams by
// which their replicas agree, and the calls that one server passes on to another.
//
// All go to the one address of a server, encrypted, with certificates on both sides. What a stream
// is for stands in the TLS handshake (ALPN), so package admission knows whom to admit before a byte
// is read. The caller names the server it dials, and closes a connection to any other.
//
//	t := peertransport.New(credentials, address)
//	r, err := replica.Open(replica.Options{Network: t, ...})
//	go t.Serve(listener) // of Protocol, from package admission
//	client := t.Client(func() (name, address string) { return r.Leader() })
package peertransport
