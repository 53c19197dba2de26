package h2_test

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"score/scored/api/transport/h2"
	"strings"
	"sync"
	"testing"
)

// A call with a long header does not reach the handler of a socket's server, which would keep it,
// nor does net/http answer OPTIONS by itself. This uses HTTP/1, since a client of HTTP/2 knows the
// bound.
func TestLongHeaders(t *testing.T) {
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	server := h2.NewSocketServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // ends with Close
	defer serving.Wait()
	defer server.Close()
	client := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", listener.Addr().String())
	}}
	defer client.CloseIdleConnections()
	for name, test := range map[string]struct {
		method, path, value string
		want                int
	}{
		"usual":   {http.MethodPost, "/x", strings.Repeat("x", 1<<10), http.StatusTeapot},
		"long":    {http.MethodPost, "/x", strings.Repeat("x", 16<<10), http.StatusRequestHeaderFieldsTooLarge},
		"options": {http.MethodOptions, "*", "x", http.StatusTeapot},
	} {
		r, err := http.NewRequestWithContext(t.Context(), test.method, "http://socket/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.URL.Path = test.path
		r.Header.Set("x", test.value)
		reply, err := client.RoundTrip(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		reply.Body.Close()
		if reply.StatusCode != test.want {
			t.Errorf("%s: %s", name, reply.Status)
		}
	}
}
