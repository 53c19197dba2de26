// Package peer is the steward's end of its connections with agents: framed messages (package wire),
// buffers, back-pressure, and the descriptors that come with some.
package peer
