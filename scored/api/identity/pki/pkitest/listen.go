package pkitest

import (
	"crypto/tls"
	"net"
	"sync"
	"testing"
)

// Listen serves each connection, whose handshake is still to come, until the test ends, and returns
// the URL.
func Listen(t testing.TB, config *tls.Config, serve func(*tls.Conn)) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer conn.Close()
				serve(tls.Server(conn, config))
			})
		}
	})
	t.Cleanup(func() { listener.Close(); work.Wait() })
	return "https://" + listener.Addr().String()
}
