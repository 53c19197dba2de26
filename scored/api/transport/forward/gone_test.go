package forward

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"score/scored/api"
	"score/scored/api/transport/h2"
	"strings"
	"sync"
	"testing"
)

// The caller of a stream goes while the server takes no more of the request: the call ends.
func TestCallerGoesWhileServerTakesNothing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := h2.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/connect+proto")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // ends with Close
	defer serving.Wait()
	defer server.Close()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	body := &endless{much: make(chan struct{})}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+listener.Addr().String(), body)
	if err != nil {
		t.Fatal(err)
	}
	transport := h2.NewTransport(nil)
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	w := httptest.NewRecorder()
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		CopyAnswer(ctx, w, response)
	}()
	<-body.much
	cancel()
	<-copied
	if !strings.HasSuffix(w.Body.String(), BrokenOff) {
		t.Errorf("the caller gets %q", w.Body)
	}
}

// endless is a request's body that never ends. It closes much when as much has been read as a
// server takes without reading.
type endless struct {
	read int
	much chan struct{}
}

func (e *endless) Read(p []byte) (int, error) {
	const window = 2 * api.MaxStreamMessage // of a stream of h2.NewServer
	if before := e.read; before < window {
		if e.read += len(p); e.read >= window {
			close(e.much)
		}
	}
	return len(p), nil
}

func (*endless) Close() error { return nil }
