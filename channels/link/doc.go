// Package link is what crosses the wire between nodes: the datagrams that carry frames
// ([Writer], [Parse]), the addresses they go to ([Address]), and what a context or an agent
// sends and receives them with ([Port]; package udp has the real one, [WithFaults] a bad one).
//
// The package decides nothing: flowctl decides which frame goes when, and the driver what a
// datagram does to an image. See DESIGN.md for the layout and its reasons.
package link
