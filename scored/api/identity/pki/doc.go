// Package pki implements the identity of daemons: a cluster has a certificate authority
// of its own, and each daemon a certificate from it that names the cluster, the
// daemon's role and its name.
//
// Daemons speak TLS 1.3 and ask each other for certificates ([Credentials]);
// without one of this cluster, no byte of a request is read. Errors of
// certificates are sentences that say by how much a date is missed
// ([VerifyError]).
//
// A new daemon joins with a token ([Token]): it makes a key, sends a request for
// a certificate ([NewRequest]) to a server that it recognises by the digest of
// the authority in the token, and a server signs it ([Authority.Sign]). The key
// never leaves its host.
//
// A connection ends when the certificate that was shown on it is revoked ([Credentials.Revoke]).
//
// The package does not store tokens (package scored/state does).
//
// One use, on both sides of a connection:
//
//	credentials, err := pki.Load(dir, time.Now)
//	listener = handshake.Listen(listener, credentials.Start("h2", pki.Agent, pki.Server), logger)
//	conn, err := credentials.Dial(ctx, "host:port", "h2", pki.Server)
package pki
