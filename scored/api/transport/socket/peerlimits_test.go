package socket

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"score/tests/child"
	"score/tests/socketdir"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// actVariable has this program connect to the socket that is its first argument,
// instead of running tests, and then do what the value says.
const actVariable = "SOCKET_TEST_ACT"

func TestMain(m *testing.M) {
	if act := os.Getenv(actVariable); act != "" {
		play(act)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func play(act string) {
	limit := unix.Rlimit{Cur: 100, Max: 200}
	err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	var conn net.Conn
	if err == nil {
		conn, err = net.Dial("unix", os.Args[1])
	}
	if err == nil {
		switch act {
		case "stay":
		case "become":
			err = syscall.Setuid(65534)
		case "leave": // somebody else keeps the connection
			file, _ := conn.(*net.UnixConn).File()
			heir := exec.Command("/bin/cat")
			heir.Stdin, heir.ExtraFiles = os.Stdin, []*os.File{file}
			err = heir.Start()
			fmt.Println(err)
			return
		}
	}
	fmt.Println(err)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test is over
}

// peer starts an actor, and returns this end of its connection once it has acted.
func peer(t *testing.T, act string) *net.UnixConn {
	t.Helper()
	dir := socketdir.Make(t)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	actor := exec.Command(os.Args[0], listener.Addr().String())
	actor.Env = append(os.Environ(), actVariable+"="+act)
	c := child.Start(t, actor)
	conn, err := listener.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if said := c.Line(t); said != "<nil>" {
		t.Fatal("the actor says ", said)
	}
	if act == "leave" {
		if err := actor.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	return conn
}

// The limits are those of the process that has connected.
func TestPeerLimits(t *testing.T) {
	limits, err := PeerLimits(peer(t, "stay"))
	if err != nil {
		t.Fatal(err)
	}
	for resource, l := range limits {
		var own unix.Rlimit
		if err := unix.Prlimit(0, resource, nil, &own); err != nil {
			t.Fatal(err)
		}
		want := own
		if resource == unix.RLIMIT_NOFILE {
			want = unix.Rlimit{Cur: 100, Max: 200}
		}
		if int(l.GetResource()) != resource || l.GetSoft() != want.Cur || l.GetHard() != want.Max {
			t.Errorf("limit %d: %v, want %+v", resource, l, want)
		}
	}
}

// Nobody gets the limits of another process: not those of one that has the number
// of the dead now, nor those that a program was given which runs as another user.
func TestPeerLimitsOfNobody(t *testing.T) {
	if _, err := PeerLimits(peer(t, "leave")); !errors.Is(err, ErrNoLimits) || !strings.Contains(err.Error(), "ended") {
		t.Errorf("of a process that has ended: %v", err)
	}
	if os.Geteuid() == 0 {
		if _, err := PeerLimits(peer(t, "become")); !errors.Is(err, ErrNoLimits) || !strings.Contains(err.Error(), "another user") {
			t.Errorf("of a process that runs as another user: %v", err)
		}
	}
}

func FuzzParseProcess(f *testing.F) {
	for _, name := range []string{"limits", "status"} {
		text, err := os.ReadFile("/proc/self/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = parseLimits(text)
		_ = allIDs(text, 0)
	})
}
