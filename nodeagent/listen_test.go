package nodeagent_test

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"score/channels/handover"
	"score/nodeagent"
	"score/tests/await"
	"score/tests/ports"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// stranger is a user who has nothing to do with the agent.
const stranger = 1001

// asStranger does something with the file permissions of the stranger, whose its sockets are.
func asStranger(t *testing.T, do func() error) error {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Setfsuid(stranger); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Setfsuid(0) }() // root may
	return do()
}

// takePort makes the stranger listen at an address until the test ends.
func takePort(t *testing.T, address string) (free func()) {
	t.Helper()
	var listener net.Listener
	if err := asStranger(t, func() (err error) {
		listener, err = net.Listen("tcp", address)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return func() { listener.Close() }
}

// Ranks find their agent at a path in a directory in which no user can make, replace or remove a
// name, also while no agent runs. The next agent is there again.
func TestNobodyTakesTheSocketOfTheRanks(t *testing.T) {
	leader := startLeader(t)
	n := startMortal(t, leader, signalsOnly)
	if err := os.Chmod(filepath.Dir(n.options.RunDir), 0o755); err != nil {
		t.Fatal(err)
	}
	s := leader.Next(t)
	n.kill(s) // it may have looked before it was open
	s = n.next()
	clocked(t, s)
	out := filepath.Join(n.options.RunDir, "..", "socket")
	argv, release := n.waiter(0)
	argv[2] = "printf %s \"$SCORE_PM_SOCKET\" >" + out + ".new; mv " + out + ".new " + out + "; " + argv[2]
	mustRun(t, s, n.order(1, argv...))
	path := awaitFile(t, out)
	if !filepath.IsAbs(path) || filepath.Dir(path) != n.options.RunDir+".jobs" {
		t.Fatalf("ranks look for the agent at %q", path)
	}
	connects(t, path)
	n.kill(s)
	for name, attack := range map[string]func() error{
		"listening":   func() error { _, err := net.Listen("unixpacket", path); return err },
		"removing":    func() error { return os.Remove(path) },
		"replacing":   func() error { return os.Rename(out, path) },
		"a new name":  func() error { return os.WriteFile(path+"2", nil, 0o600) },
		"another one": func() error { _, err := net.Listen("unixpacket", path+".new"); return err },
	} {
		if err := asStranger(t, attack); !errors.Is(err, fs.ErrPermission) && !errors.Is(err, unix.EADDRINUSE) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s = n.next()
	connects(t, path)
	touch(t, release)
	done(t, s, 1)
	s.Send(forgetMessage(1))
	n.gone()
}

func awaitFile(t testing.TB, path string) string {
	t.Helper()
	var text []byte
	await.That(t, path+" is there", func() bool {
		var err error
		text, err = os.ReadFile(path)
		return err == nil
	})
	return string(text)
}

// connects checks that the agent listens at a path, for whoever comes.
func connects(t *testing.T, path string) {
	t.Helper()
	if err := asStranger(t, func() error {
		client, err := handover.Connect(path)
		if err == nil {
			client.Close()
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// An agent whose port was taken while it was away is reached at another one, and says so.
func TestAStrangerHasTheAgentsPort(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	leader := startLeader(t)
	address := ports.Address(t)
	free := takePort(t, address)
	defer free()
	startNode(t, leader, signalsOnly, func(o *nodeagent.Options) { o.Listen = address })
	s := leader.Next(t)
	if s.Hello.GetAddress() == address || s.Hello.GetAddress() == "" {
		t.Errorf("it is at %q", s.Hello.GetAddress())
	}
	if !slices.ContainsFunc(s.Hello.GetNotes(), func(note string) bool {
		return strings.Contains(note, "user 1001") && strings.Contains(note, address) && strings.Contains(note, s.Hello.GetAddress())
	}) {
		t.Errorf("notes %q", s.Hello.GetNotes())
	}
	conn, err := net.Dial("tcp", s.Hello.GetAddress())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// Two agents with one address are a mistake that is told.
func TestAnAgentOfTheSameUserHasThePort(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	leader := startLeader(t)
	first := startNode(t, leader, signalsOnly)
	address := leader.Next(t).Hello.GetAddress()
	second := newNode(t, leader, signalsOnly, func(o *nodeagent.Options) { o.Listen = address })
	second.run()
	if err := second.wait(); err == nil || !strings.Contains(err.Error(), "another address") {
		t.Errorf("the second of %s: %v", first.options.Cluster, err)
	}
}

// The metrics wait for their port, and the agent serves meanwhile.
func TestAStrangerHasThePortOfTheMetrics(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	leader := startLeader(t)
	address := ports.Address(t)
	free := takePort(t, address)
	startNode(t, leader, signalsOnly, func(o *nodeagent.Options) { o.MetricsAddress = address })
	s := leader.Next(t)
	awaitTrouble(t, s, "metrics_listen")
	free()
	await.That(t, "metrics are served", func() bool {
		response, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil || !strings.Contains(string(text), "score") {
			t.Errorf("metrics: %.200s, %v", text, err)
		}
		return true
	})
}
