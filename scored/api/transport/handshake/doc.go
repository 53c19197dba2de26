// Package handshake accepts daemons although strangers connect and stay silent. A Listener returns
// connections whose TLS handshake is over. Unauthenticated connections are bounded, in all and for
// each address. If there are too many, the oldest of the address that has the most is closed: so a
// daemon that shows a certificate at once gets in, however many others are silent.
//
//	l := handshake.Listen(listener, credentials.Start("h2", pki.Agent), logger)
//	conn, err := l.Accept() // its handshake is over
package handshake
