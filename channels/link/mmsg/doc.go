// Package mmsg is what ports on datagram sockets have in common: the datagrams of a flush, and the
// calls that send and receive one or many of them without waiting (sendmmsg(2), recvmmsg(2)).
package mmsg
