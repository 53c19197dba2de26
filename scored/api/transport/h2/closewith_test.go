package h2_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"score/scored/api"
	"score/scored/api/transport/h2"
	"testing"
	"testing/synctest"
)

// call is a call of which this side sends through a pipe.
type call struct {
	request  *io.PipeWriter
	response io.Closer
}

func (c call) CloseRequest() error  { return c.request.Close() }
func (c call) CloseResponse() error { return c.response.Close() }

// A reader of a stream wakes when its context ends, though the request waits for the server to take
// more of it.
func TestCloseWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		listener := oneConn{make(chan net.Conn, 1)}
		listener.conns <- there
		server := h2.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush() // the client sees what is missing
			<-r.Context().Done()
		}))
		go func() { _ = server.Serve(listener) }() // ends with listener
		defer server.Close()
		defer close(listener.conns)

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		body, request := io.Pipe()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://x", body)
		if err != nil {
			t.Fatal(err)
		}
		transport := h2.NewTransport(nil)
		transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return here, nil }
		defer transport.CloseIdleConnections()
		response, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		closed := h2.CloseWith(ctx, call{request, response.Body})
		const window = 2 * api.MaxStreamMessage // of a stream of NewServer
		go func() { _, _ = request.Write(make([]byte, 2*window)) }()
		ended := make(chan error)
		go func() {
			_, err := response.Body.Read(make([]byte, 1))
			ended <- err
		}()
		synctest.Wait() // until both wait
		cancel()
		if err := <-ended; err == nil {
			t.Error("the server has sent something")
		}
		<-closed
	})
}
