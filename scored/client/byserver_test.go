package client_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/scored/client"
	"score/scored/client/clienttest"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
)

// relay listens at a path beside others and passes each connection on to a socket. It counts them.
func relay(t *testing.T, path, to string) *atomic.Int32 {
	t.Helper()
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	count := new(atomic.Int32)
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			onward, err := net.Dial("unix", to)
			if err != nil {
				from.Close()
				return
			}
			go func() { _, _ = io.Copy(onward, from); onward.Close() }() // ends with the client's connection
			go func() { _, _ = io.Copy(from, onward); from.Close() }()
		}
	}()
	return count
}

func getVersion(t *testing.T, c *client.Client, want string) {
	t.Helper()
	reply, err := c.Cluster.GetVersion(t.Context(), connect.NewRequest(&scorev1.GetVersionRequest{}))
	if err != nil || reply.Msg.GetCluster() != want {
		t.Errorf("%v, %v answered, want %q", reply, err, want)
	}
}

// setSettings is a call that an agent would refuse.
func setSettings(t *testing.T, c *client.Client) {
	t.Helper()
	_, err := c.Cluster.SetSettings(t.Context(), connect.NewRequest(&scorev1.SetSettingsRequest{}))
	if connect.CodeOf(err) != connect.CodeUnimplemented { // nobody here implements it
		t.Errorf("no daemon answered: %v", err)
	}
}

// A call that only the server takes needs no connection of its own while all lead to the server,
// and has one of its own once another may lead to the agent.
func TestServersCallsShareConnections(t *testing.T) {
	path := besides(t, false, true)
	server := clienttest.Serve(t, version("server"))
	count := relay(t, path, server)
	c, err := client.Dial(t.Context(), client.Choice{Socket: path, Origin: "--cluster"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	setSettings(t, c)
	getVersion(t, c, "server")
	setSettings(t, c)
	if n := count.Load(); n != 1 {
		t.Errorf("%d connections to the server", n)
	}
}

func TestServersCallsAfterTheAgent(t *testing.T) {
	path := besides(t, false, true)
	c, err := client.Dial(t.Context(), client.Choice{System: path, Dev: filepath.Join(t.TempDir(), "missing")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	getVersion(t, c, "agent.sock")
	count := relay(t, path, clienttest.Serve(t, version("server"))) // the server has started
	setSettings(t, c)
	if n := count.Load(); n != 1 {
		t.Errorf("%d connections to the server: the call went to the agent", n)
	}
	getVersion(t, c, "agent.sock") // by the connection that is there
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	setSettings(t, c)
}
