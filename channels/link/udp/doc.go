// Package udp is the port of package link over UDP sockets: one system call for many datagrams,
// segmentation offload (UDP_SEGMENT, UDP_GRO) where the kernel has it, and datagrams as long as the
// path takes.
//
// The socket is opened by the agent ([Listen]); the descriptor goes to the process whose context
// it serves, and each of the two makes a [Port] of it ([New]). Linux only.
package udp
