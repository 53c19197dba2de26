// Package socket serves the Unix socket at which users' programs call a daemon of their host, a
// server or an agent: who is at the other end, as the kernel tells, and how much one user can keep
// the daemon busy with.
//
//	listener, err := socket.Listen("socket", path, socket.Everybody)
//	limiter := socket.NewConnLimiter(listener, socket.MaxConnections, logger)
//	server := &http.Server{Handler: socket.NewLimits(next, socket.OfUser(uidOf)), ...}
//	server.Serve(limiter)
package socket
