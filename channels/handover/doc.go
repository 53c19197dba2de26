// Package handover passes the descriptors of context images from whoever made
// them (a node's daemons, a launcher) to the ranks: a rank asks on a Unix
// socket for the image of a channel and rank, and gets its descriptor. For its own
// context it gets, too, the UDP socket on which other nodes reach it, and the place map
// that says where its peers are.
//
// A rank inherits its connection from its launcher (Pair), or dials the daemon
// (Listen, Dial), which the kernel tells who it is (Peer).
//
// Requests and answers are packets of fixed size, so neither side keeps state
// between them and a bad packet ends the connection. Who may have which image is the
// server's Source to decide; this package does not know users or jobs.
//
//	server := handover.Server{Image: func(r handover.Request) (*os.File, handover.Status) { ... }}
//	go server.Serve(conn)                                             // in the daemon
//	img, err := handover.NewClient(conn).Image(channel, handover.Own) // in the rank
package handover
