package h2_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"score/scored/api/transport/h2"
	"score/scored/api/transport/handshake"
	"strings"
	"testing"

	"go.uber.org/zap"
)

// serve answers with the protocol of the request, until the test ends.
func serve(t *testing.T, own *pki.Credentials) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = listener.Addr().String()
	if own != nil {
		listener = handshake.Listen(listener, own.ServerSide(h2.Protocol, pki.Agent), zap.NewNop())
	}
	server := h2.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	}))
	done := make(chan struct{})
	go func() { _ = server.Serve(listener); close(done) }()
	t.Cleanup(func() { server.Close(); <-done })
	return address
}

func get(t *testing.T, client *http.Client, url string) (string, error) {
	t.Helper()
	t.Cleanup(client.CloseIdleConnections)
	r, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	return string(body), err
}

func TestUnencrypted(t *testing.T) {
	address := serve(t, nil)
	if got, err := get(t, h2.NewClient(nil), "http://"+address); got != "HTTP/2.0" || err != nil {
		t.Errorf("our client speaks %q, %v", got, err)
	}
	if got, err := get(t, new(http.Client), "http://"+address); got != "HTTP/1.1" || err != nil {
		t.Errorf("curl would speak %q, %v", got, err)
	}
}

func TestEncrypted(t *testing.T) {
	cluster := pkitest.New(t, "c1")
	server, agent := cluster.Daemon(t, pki.Server, "s1"), cluster.Daemon(t, pki.Agent, "n1")
	url := "https://" + serve(t, server)
	if got, err := get(t, h2.NewClient(agent, pki.Server), url); got != "HTTP/2.0" || err != nil {
		t.Errorf("an agent speaks %q, %v", got, err)
	}
	if got, err := get(t, h2.NewClient(agent, pki.Agent), url); err == nil || !strings.Contains(err.Error(), "it is for agents") {
		t.Errorf("a server passed for an agent: %q, %v", got, err)
	}
	if got, err := get(t, h2.NewClient(server, pki.Server), url); err == nil {
		t.Errorf("a server was let in where agents belong: %q", got)
	}
	if got, err := get(t, h2.NewClient(nil), "http://"+strings.TrimPrefix(url, "https://")); err == nil {
		t.Errorf("without encryption: %q", got)
	}
}

// A client that has called is turned away when it calls again after its certificate was revoked,
// and goes no more to a server whose certificate was.
func TestRevoked(t *testing.T) {
	cluster := pkitest.New(t, "c1")
	server, agent := cluster.Daemon(t, pki.Server, "s1"), cluster.Daemon(t, pki.Agent, "n1")
	url := "https://" + serve(t, server)
	client := h2.NewClient(agent, pki.Server)
	if _, err := get(t, client, url); err != nil {
		t.Fatal(err)
	}
	server.Revoke([][]byte{agent.Serial()})
	if got, err := get(t, client, url); err == nil {
		t.Errorf("a revoked agent hears %q", got)
	}
	server.Revoke(nil)
	if _, err := get(t, client, url); err != nil {
		t.Fatal(err)
	}
	agent.Revoke([][]byte{server.Serial()})
	got, err := get(t, client, url)
	for errors.Is(err, net.ErrClosed) {
		got, err = get(t, client, url) // the connection that Revoke closes was taken just before
	}
	if pki.FaultOf(err) != pki.FaultRevoked {
		t.Errorf("a revoked server is called, and says %q, %v", got, err)
	}
}

// Streams that nobody reads, in either direction, hold up no other of their connection.
func TestStuckStreams(t *testing.T) {
	const stuck, size = 100, 4 << 20
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	begun, over := make(chan struct{}, stuck), make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/takes-nothing", func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		<-over
	})
	mux.HandleFunc("/tells-much", func(w http.ResponseWriter, _ *http.Request) {
		begun <- struct{}{}
		_, _ = io.CopyN(w, endless{}, 1<<40) // until the client leaves
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	server := h2.NewServer(mux)
	done := make(chan struct{})
	go func() { _ = server.Serve(listener); close(done) }()
	client := h2.NewClient(nil)
	ctx, leave := context.WithCancel(t.Context())
	t.Cleanup(func() { leave(); close(over); server.Close(); <-done })
	url := "http://" + listener.Addr().String()
	for i := range stuck {
		path, body := "/takes-nothing", io.Reader(endless{})
		if i%2 == 0 {
			path, body = "/tells-much", nil
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if answer, err := client.Do(request); err == nil {
				<-ctx.Done() // it is not read
				answer.Body.Close()
			}
		}()
	}
	for range stuck {
		<-begun
	}
	answer, err := client.Post(url+"/echo", "", io.LimitReader(endless{}, size))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if n, err := io.Copy(io.Discard, answer.Body); n != size || err != nil {
		t.Errorf("%d bytes of %d, %v", n, size, err)
	}
}

// endless can always be read.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
