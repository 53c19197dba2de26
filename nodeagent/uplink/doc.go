// Package uplink keeps a node's one lasting stream to the leader.
//
// It connects, introduces the node, measures the leader's clock, and connects
// again with growing pauses when the stream breaks. It keeps nothing of what
// was sent: what must survive a broken stream is kept by the caller, who sends
// it again when Handler.Welcome tells of a new one.
//
//	link := uplink.New(uplink.Options{
//		Servers: []string{"http://127.0.0.1:7420"},
//		Client:  client, // speaks HTTP/2
//		Hello:   func() *scorev1.Hello { return hello },
//		Handler: jobs,
//		Clock:   clock,
//		Now:     monotonicNanos,
//	})
//	go link.Run(ctx)
//	link.Send(message) // never blocks
package uplink
