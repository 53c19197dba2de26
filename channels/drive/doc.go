// Package drive runs the protocol of a context: it joins the image (send buffer,
// flow control of each peer, inbox) with a port to the network.
//
// Whoever has the processor drives: the rank's process while it polls, the node's agent while the
// process computes, sleeps, is stopped or frozen. Each has a Driver of its own for the same image
// and the same socket; the driver lock decides whose turn it is. All that must survive a change of
// drivers is in the image; what a Driver remembers is a copy that it can lose.
//
//	if d.Enter() { // in the process
//		d.Drive(channels.Nanos())
//		d.Leave()
//	}
package drive
