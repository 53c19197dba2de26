package packaging

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"score/cmd/scored/config"
	"score/scored/api/scorev1"
	"score/scored/client"
	"score/tests/daemons"
	"score/tests/journal"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sys/unix"
)

// watchdogUsec is what the manager of these tests waits for a sign of life.
const watchdogUsec = "200000"

// manager starts a daemon and receives its notifications, as systemd does for a unit of
// Type=notify.
type manager struct {
	conn *net.UnixConn
	path string
}

func newManager(t *testing.T) *manager {
	t.Helper()
	path := filepath.Join(t.TempDir(), "n")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &manager{conn, path}
}

// await reads until a line of a notification begins with the text, and returns the notification.
func (m *manager) await(t *testing.T, said string) string {
	t.Helper()
	_ = m.conn.SetReadDeadline(time.Now().Add(patience))
	buffer := make([]byte, 4096)
	for {
		n, err := m.conn.Read(buffer)
		if err != nil {
			t.Fatalf("waiting for %s: %v", said, err)
		}
		if text := string(buffer[:n]); strings.Contains("\n"+text, "\n"+said) {
			return text
		}
	}
}

// unit is a daemon that a manager runs.
type unit struct {
	*manager
	command *exec.Cmd
	log     *journal.Journal
	path    string // of its configuration
	config  config.Config
}

func startUnit(t *testing.T, kind, dir string, c config.Config) *unit {
	t.Helper()
	u := &unit{manager: newManager(t), log: new(journal.Journal), path: filepath.Join(dir, kind+".toml"), config: c}
	u.write(t)
	u.command = exec.Command(filepath.Join(binaries, "scored"), kind, "--config", u.path)
	u.command.Env = append(os.Environ(), "NOTIFY_SOCKET="+u.manager.path, "WATCHDOG_USEC="+watchdogUsec)
	u.command.Stderr = u.log
	u.command.WaitDelay = patience
	u.command.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGINT}
	if err := u.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = u.command.Process.Signal(unix.SIGINT)
		_ = u.command.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", kind, u.log)
		}
	})
	return u
}

func (u *unit) write(t *testing.T) {
	t.Helper()
	if err := config.Write(u.path, u.config); err != nil {
		t.Fatal(err)
	}
}

// reload asks for the configuration to be read again, and returns the status that is notified.
func (u *unit) reload(t *testing.T) (status string) {
	t.Helper()
	u.write(t)
	if err := u.command.Process.Signal(unix.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if said := u.await(t, "RELOADING=1"); !strings.Contains(said, "MONOTONIC_USEC=") {
		t.Errorf("told %q", said)
	}
	return u.await(t, "READY=1")
}

// changeConfiguration changes keys that the daemon applies, keys that need the restart that it then
// reports, and keys that are wrong; at the end the configuration is as before.
func (u *unit) changeConfiguration(t *testing.T, restart string) {
	t.Helper()
	u.await(t, "WATCHDOG=1")
	was := u.config
	u.config.Log.Level = "debug"
	if said := u.reload(t); strings.Contains(said, "restart") || strings.Contains(said, "error") {
		t.Errorf("told %q of another log level", said)
	}
	u.config.Cluster.Name, u.config.Agent.Grace, u.config.Server.MaxRows = "others", "5s", 3
	if said := u.reload(t); !strings.HasSuffix(strings.TrimSpace(said), restart) {
		t.Errorf("told %q, want %q", said, restart)
	}
	u.config.Log.Level = "loud"
	if said := u.reload(t); !strings.Contains(said, "log.level: it is debug") {
		t.Errorf("told %q of a wrong configuration", said)
	}
	u.config = was
	if said := u.reload(t); strings.Contains(said, "restart") || strings.Contains(said, "error") {
		t.Errorf("told %q of what it began with", said)
	}
	// The log does not go through the manager.
	if err := daemons.Await(t.Context(), "the log tells of three changes", func() bool {
		return strings.Count(u.log.String(), "the configuration was read again") == 3
	}); err != nil {
		t.Error(err)
	}
}

// TestServices runs a server and an agent as units of Type=notify: each says when it serves, that
// it is alive, that it reads its configuration again and what came of it, and that it stops.
func TestServices(t *testing.T) {
	dir := t.TempDir()
	c := config.Default()
	c.Cluster = config.Cluster{Name: "units", KeyFile: filepath.Join(dir, "key")}
	c.Server.DataDir, c.Server.Socket, c.Server.AgentsListen = filepath.Join(dir, "data"), filepath.Join(dir, "s"), "127.0.0.1:0"
	server := startUnit(t, "server", dir, c)
	said := server.await(t, "READY=1")
	_, address, ok := strings.Cut(strings.TrimSpace(said), "https://")
	if !ok {
		t.Fatalf("the server's status is %q", said)
	}
	c.Agent.Name, c.Agent.Listen, c.Agent.Servers, c.Agent.RunDir = "n1", "127.0.0.1:0", []string{address}, filepath.Join(dir, "run")
	// A job whose end the agent has not heard to be known stays for its successor, with the
	// standard error; there is none.
	c.Agent.Grace = "10s"
	agent := startUnit(t, "agent", dir, c)
	if said := agent.await(t, "READY=1"); !strings.Contains(said, "STATUS=node n1 of cluster units at 127.0.0.1:") {
		t.Errorf("the agent's status is %q", said)
	}
	connected := client.New(c.Server.Socket)
	defer connected.Close()
	if err := daemons.Await(t.Context(), "the node is up", func() bool {
		reply, err := connected.Cluster.ListNodes(t.Context(), connect.NewRequest(&scorev1.ListNodesRequest{}))
		return err == nil && len(reply.Msg.GetNodes()) == 1 && reply.Msg.GetNodes()[0].GetUp()
	}); err != nil {
		t.Fatal(err)
	}
	server.changeConfiguration(t, "a restart is needed for cluster.name, server.max_rows")
	agent.changeConfiguration(t, "a restart is needed for cluster.name, agent.grace")
	run := exec.Command(filepath.Join(binaries, "scrun"), "-n", "1", "echo", "hello")
	run.Env = append(os.Environ(), "SCORE_SOCKET="+c.Server.Socket)
	if out, err := run.CombinedOutput(); err != nil || string(out) != "hello\n" {
		t.Errorf("a job after all that: %q, %v", out, err)
	}
	for _, u := range []*unit{agent, server} {
		if err := u.command.Process.Signal(unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		u.await(t, "STOPPING=1")
		if err := u.command.Wait(); err != nil {
			t.Errorf("%v", err)
		}
	}
}
