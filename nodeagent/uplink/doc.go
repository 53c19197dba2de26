// Package uplink keeps a node's stream to the leader.
//
// It connects, introduces the node, measures the leader's clock, and after a broken stream connects
// again with growing pauses. It does not keep sent messages: the caller keeps those that must
// survive a broken stream, and sends them again at Handler.Welcome. Read uplink.go and session.go
// first.
//
//	link := uplink.New(uplink.Options{
//		Servers: []string{"http://127.0.0.1:7420"},
//		Client:  client, // speaks HTTP/2
//		Hello:   func() *agentpb.Hello { return hello },
//		Handler: jobs,
//		Clock:   clock,
//		Now:     monotonicNanos,
//	})
//	go link.Run(ctx)
//	link.Send(message) // never blocks
package uplink
