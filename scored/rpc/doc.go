// Package rpc serves the calls of a server: it identifies the callers, checks what
// they may ask and what they send, and passes it to package leader. It decides
// nothing about jobs.
//
// Users connect to a Unix socket, where the kernel identifies them (SO_PEERCRED).
// Agents connect with HTTP/2 over TLS. They forward calls of the users of their
// hosts, who get the role of a user and no other. Output of jobs does not pass
// through the leader: an attachment fetches it from the agents and merges it.
//
//	users := rpc.NewUsers(rpc.UserOptions{Leader: l, Agents: client, ...})
//	listener, err := socket.Listen("socket", "/run/score/scored.sock", socket.Everybody)
//	server := &http.Server{Handler: users, ConnContext: rpc.ConnContext, ...}
package rpc
