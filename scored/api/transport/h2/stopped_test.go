package h2_test

import (
	"io"
	"net"
	"net/http"
	"score/scored/api/transport/h2"
	"testing"
	"testing/synctest"
	"time"
)

// stopped is longer than any probe of a connection.
const stopped = 24 * time.Hour

// oneConn is a listener to which one client has come.
type oneConn struct{ conns chan net.Conn }

func (l oneConn) Accept() (net.Conn, error) {
	conn, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (oneConn) Close() error   { return nil }
func (oneConn) Addr() net.Addr { return &net.UnixAddr{} }

// A client of a socket that does not answer for a day is stopped, and keeps its call; one of the
// network is gone.
func TestStoppedClient(t *testing.T) {
	for name, test := range map[string]struct {
		server func(http.Handler) *http.Server
		kept   bool
	}{"socket": {h2.NewSocketServer, true}, "network": {h2.NewServer, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lost := false
				server := test.server(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					<-r.Context().Done()
					lost = true
				}))
				here, there := net.Pipe()
				listener := oneConn{make(chan net.Conn, 1)}
				listener.conns <- there
				go func() { _ = server.Serve(listener) }()
				go func() { _, _ = io.Copy(io.Discard, here) }() // which the socket's buffer takes
				// Preface, no settings, and GET of http://x/ as stream 1: method 2, scheme 6, path
				// 4, authority x.
				if _, err := io.WriteString(here, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+
					"\x00\x00\x00\x04\x00\x00\x00\x00\x00"+
					"\x00\x00\x06\x01\x05\x00\x00\x00\x01\x82\x86\x84\x41\x01x"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(stopped)
				synctest.Wait()
				if lost == test.kept {
					t.Errorf("the call was lost: %v", lost)
				}
				here.Close()
				synctest.Wait()
				if !lost {
					t.Error("a client that is gone keeps its call")
				}
				close(listener.conns)
				server.Close()
			})
		})
	}
}
