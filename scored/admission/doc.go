// Package admission makes daemons members of the cluster: it gives out tokens,
// admits newcomers, and signs the next certificate of those who are
// in. The leader stores the decisions; the key that signs is here.
//
// [Registrar.Listen] listens at the address of the daemons: a connection with a
// certificate of the cluster is passed on, a newcomer is served here, and
// all others are refused in the handshake, before a byte of a request is read.
package admission
