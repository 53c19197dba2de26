// Package admission makes daemons members of the cluster: it gives out tokens,
// takes newcomers in at the door, and signs the next certificate of those who are
// in. What was decided is the leader's to remember; the key that signs is here.
//
// [Registrar.Listen] stands before the address of the daemons: who comes with a
// certificate of the cluster is passed on, who comes to join is served here, and
// all others are turned away in the handshake, before a byte of a request is read.
package admission
