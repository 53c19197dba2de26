package nodeagent

import (
	"errors"
	"net"
	"path/filepath"
	"score/scored/api/identity/pki"
	"score/tests/ports"
	"strings"
	"testing"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

func listening(t *testing.T, listen string) (net.Listener, error) {
	t.Helper()
	own, err := pki.FromKey("k", pki.Name{Cluster: "c", Role: pki.Agent, Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{
		options: Options{Listen: listen, Cluster: "c", ClusterKey: "k"}, credentials: own, log: zap.NewNop(), socket: filepath.Join(t.TempDir(), "pm"),
	}
	listener, err := a.listenConfigured()
	if err == nil {
		t.Cleanup(func() {
			listener.Close()
			a.closePlane()
		})
	}
	return listener, err
}

// The directory has the number of the agent's port, which is all that other nodes know.
func TestDirectoryHasTheAgentsPort(t *testing.T) {
	listener, err := listening(t, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := net.ListenPacket("udp", listener.Addr().String()); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("the UDP port is not taken: %v", err)
	}
}

// A configured port whose twin is another's is refused with a reason, and given back.
func TestTakenDirectoryPort(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	address := ports.Address(t)
	other, err := net.ListenPacket("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	_, err = listening(t, address)
	if !errors.Is(err, unix.EADDRINUSE) || !strings.Contains(err.Error(), "UDP port of its directory") {
		t.Errorf("error %v", err)
	}
	again, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("the TCP port was not given back: %v", err)
	}
	again.Close()
}
