// Package tipc is the port of package link over TIPC, the cluster protocol of Linux: datagrams
// (SOCK_RDM) between sockets of a cluster's nodes, which are found by name and not by host.
//
// The socket is opened by the agent ([Listen]), bound to the name of its context; the descriptor
// goes to the process whose context it serves, and each of the two makes a [Port] of it ([New]).
// [Watch] reports names that others bind and give up, and nodes that leave. [Bearers] are the
// networks that the kernel carries TIPC by. Linux only.
//
// Names may be bound by anybody. So a message that has a job's key goes to a socket, never to a
// name; see DESIGN.md.
package tipc
