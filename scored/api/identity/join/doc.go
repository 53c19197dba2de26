// Package join lets a daemon join a cluster: it dials a server that its token
// names, requests a name, and gets a certificate.
//
//	newcomer                                   server
//	   | TLS 1.3, protocol score-join/1           |
//	   |   server shows its certificate and the   |
//	   |   authority's, whose digest the token has|
//	   | length, JoinRequest -------------------->| is the token good?
//	   |<------------------- length, JoinResponse | its certificate is committed
//
// The exchange has one message each way, of bounded length, and takes a
// bounded time. The server's side is package scored/admission.
package join
