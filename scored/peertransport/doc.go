// Package mesh is the connections between the servers of a cluster: the streams by which
// their replicas agree, and the calls that one server passes on to another.
//
// All go to the one address of a server, encrypted, with certificates on both sides. What a stream
// is for is told in the TLS handshake (ALPN), so the door (package admission) knows whom to let in
// before a byte is read. Who dials says which server is meant, by name, and hangs up on any other.
//
//	m := mesh.New(credentials, address)
//	r, err := replica.Open(replica.Options{Network: m, ...})
//	go m.Serve(listener) // of Protocol, from the door
//	client := m.Client(func() (name, address string) { return r.Leader() })
package peertransport
