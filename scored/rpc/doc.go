// Package rpc serves the calls of a server: it says who is who and what they may
// ask, checks what they send, and hands it to package leader. It decides nothing
// about jobs.
//
// Users come over a Unix socket, where the kernel tells who they are
// (SO_PEERCRED); agents come over HTTP/2 with the cluster's key, and pass on
// calls of users of their hosts, who then are users like any other. Output of jobs
// does not pass through the leader: an attachment fetches it from the agents
// and merges it.
//
//	users := rpc.NewUsers(rpc.UserOptions{Leader: l, Agents: client, ...})
//	listener, err := rpc.ListenUsers("/run/score/scored.sock")
//	server := &http.Server{Handler: users, ConnContext: rpc.ConnContext, ...}
package rpc
