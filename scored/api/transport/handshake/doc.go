// Package handshake accepts daemons although strangers connect and stay silent. A Listener returns
// connections whose TLS handshake is over. Those that have not shown who they are yet are bounded,
// in all and for each address. When there are too many the one that has waited longest is closed,
// of the address that has the most: so who shows a certificate at once gets in, however many others
// are silent.
//
//	l := handshake.Listen(listener, credentials.Start("h2", pki.Agent), logger)
//	conn, err := l.Accept() // its handshake is over
package handshake
