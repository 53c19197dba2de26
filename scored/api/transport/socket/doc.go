// Package socket serves the Unix socket at which users' programs call a daemon of their host, a
// server or an agent. It identifies the caller by the kernel, and bounds the load that one user can
// cause.
//
//	listener, err := socket.Listen("socket", path, socket.Everybody)
//	limiter := socket.NewConnLimiter(listener, socket.MaxConnections, logger)
//	server := &http.Server{Handler: socket.NewLimits(next, socket.OfUser(uidOf)), ...}
//	server.Serve(limiter)
package socket
