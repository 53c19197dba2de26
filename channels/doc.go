// Package channels is the data plane inside a node: context images, their
// inboxes and send buffers, the driver lock, and the counters.
//
// A context is the network state of one rank on one channel. Its image is
// memory without pointers (a sealed memfd) that the rank's process, the other
// ranks of the job on the node, and the node's agent map. A message inside a node
// is written straight into the receiver's inbox and stays there until it is
// given back: no system call, no daemon, one cache line for a short message.
//
// Nobody trusts an image: what another party can write is copied once, checked,
// then used. Impossible values are an error or end the use of one ring; they never
// cause a panic, a hang, or an access outside the image.
//
// The package does not speak between nodes (packages below link do, on the same images), does not
// decide who may talk to whom, and is not what programs link: that is package pm. DESIGN.md has the
// layout and the protocols; sender.go and inbox.go are the way of a message.
package channels
