// Package pki is the identity of daemons: a cluster has a certificate authority
// of its own, and each daemon a certificate from it that names the cluster, the
// daemon's role and its name.
//
// Daemons speak TLS 1.3 and ask each other for certificates ([Credentials]);
// whoever has none of this cluster gets no byte of a request read. What is wrong
// with a certificate is told in a sentence, with by how much ([VerifyError]).
//
// A new daemon joins with a token ([Token]): it makes a key, sends a request for
// a certificate ([NewRequest]) to a server that it recognises by the digest of
// the authority in the token, and a server signs it ([Authority.Sign]). The key
// never leaves its host.
//
// The package holds files and certificates. It does not dial, listen or keep
// tokens: who may join is for the servers to say (package scored/state).
//
// One use, on both sides of a connection:
//
//	credentials, err := pki.Load(dir, time.Now)
//	listener = tls.NewListener(listener, credentials.Server(pki.Agent, pki.Server))
//	transport.TLSClientConfig = credentials.Client(pki.Server)
package pki
