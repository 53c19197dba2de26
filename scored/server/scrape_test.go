package server

import (
	"net"
	"net/http"
	"score/tests/await"
	"testing"
)

// The server runs while another process has the metrics port, and serves the metrics once the port
// is free.
func TestMetricsPortIsTaken(t *testing.T) {
	stranger, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := options(t)
	o.MetricsAddress = stranger.Addr().String()
	s, stop := start(t, o)
	joinNode(t, s)
	if err := s.WaitForNodes(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := stranger.Close(); err != nil {
		t.Fatal(err)
	}
	await.That(t, "metrics are served", func() bool {
		response, err := http.Get("http://" + o.MetricsAddress + "/metrics")
		if err == nil {
			response.Body.Close()
		}
		return err == nil
	})
	http.DefaultClient.CloseIdleConnections()
	stop()
}
