// Package h2test listens on loopback for calls between daemons, in tests.
package h2test

import (
	"net"
	"score/scored/api/identity/pki"
	"score/scored/api/transport/h2"
	"score/scored/api/transport/handshake"
	"testing"

	"go.uber.org/zap"
)

// Listen accepts daemons of the roles until the test ends.
func Listen(t testing.TB, own *pki.Credentials, roles ...pki.Role) net.Listener {
	t.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := handshake.Listen(plain, own.ServerSide(h2.Protocol, roles...), zap.NewNop())
	t.Cleanup(func() { _ = listener.Close() }) // nobody is left to come
	return listener
}
