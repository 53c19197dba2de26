// Package admission makes daemons members of the cluster: it gives out tokens,
// admits newcomers, and renews the certificates of members. The leader stores
// the decisions; the signing key is here.
//
// [Registrar.Listen] listens at the address of the daemons: a connection with a
// certificate of the cluster is passed on, a newcomer is served here, and
// all others are refused in the handshake, before a byte of a request is read.
package admission
