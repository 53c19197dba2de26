package service

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// patience bounds every wait for what must come.
const patience = 30 * time.Second

// manager is a service manager's socket, which the environment names until the test ends.
type manager struct{ conn *net.UnixConn }

func newManager(t *testing.T) manager {
	t.Helper()
	path := filepath.Join(t.TempDir(), "n")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return manager{conn}
}

// next is what is told next, variable by variable.
func (m manager) next(t *testing.T) map[string]string {
	t.Helper()
	_ = m.conn.SetReadDeadline(time.Now().Add(patience))
	buffer := make([]byte, 4096)
	n, err := m.conn.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	said := make(map[string]string)
	for line := range strings.SplitSeq(string(buffer[:n]), "\n") {
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			t.Errorf("%q is no variable", line)
		}
		said[key] = value
	}
	return said
}

func TestNotify(t *testing.T) {
	m := newManager(t)
	Ready("node n1 of\ncluster  c1")
	if got := m.next(t); got["READY"] != "1" || got["STATUS"] != "node n1 of cluster c1" {
		t.Errorf("ready: %v", got)
	}
	Reloading()
	got := m.next(t)
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	at, err := strconv.ParseInt(got["MONOTONIC_USEC"], 10, 64)
	if got["RELOADING"] != "1" || err != nil || at <= 0 || at > now.Nano()/1000 || now.Nano()/1000-at > patience.Microseconds() {
		t.Errorf("reloading: %v", got)
	}
	stopping()
	if got := m.next(t); got["STOPPING"] != "1" {
		t.Errorf("stopping: %v", got)
	}
}

func TestNobodyToNotify(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	os.Unsetenv("NOTIFY_SOCKET")
	Ready("alone")
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "gone"))
	stopping()
}

// TestWatch: the manager hears that the daemon is alive while it is, and nothing while it is not.
func TestWatch(t *testing.T) {
	m := newManager(t)
	t.Setenv("WATCHDOG_USEC", "20000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	ctx, cancel := context.WithCancel(t.Context())
	asked, answer := make(chan struct{}), make(chan error)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Watch(ctx, zap.NewNop(), func(ctx context.Context) error {
			asked <- struct{}{}
			return <-answer
		})
	}()
	<-asked
	answer <- nil
	if got := m.next(t); got["WATCHDOG"] != "1" {
		t.Errorf("alive: %v", got)
	}
	for range 2 {
		<-asked
		answer <- errors.New("it hangs")
	}
	<-asked // what would have been said by now has been
	_ = m.conn.SetReadDeadline(time.Now())
	if n, err := m.conn.Read(make([]byte, 100)); err == nil {
		t.Errorf("a daemon that does not work told %d bytes", n)
	}
	answer <- nil
	if got := m.next(t); got["WATCHDOG"] != "1" {
		t.Errorf("recovered: %v", got)
	}
	cancel()
	for {
		select {
		case <-asked:
			answer <- nil
		case <-ended:
			return
		}
	}
}

func TestWatchWithoutWatchdog(t *testing.T) {
	t.Setenv("WATCHDOG_USEC", "")
	os.Unsetenv("WATCHDOG_USEC")
	Watch(t.Context(), zap.NewNop(), func(context.Context) error {
		t.Error("nobody wants to know")
		return nil
	})
}

var errLeave = errors.New("leave")

func TestSignals(t *testing.T) {
	for name, test := range map[string]struct {
		signal   unix.Signal
		terminal bool
		cause    error
	}{
		"^C":                 {unix.SIGINT, false, context.Canceled},
		"TERM":               {unix.SIGTERM, false, errLeave},
		"TERM at a terminal": {unix.SIGTERM, true, errLeave},
		"HUP at a terminal":  {unix.SIGHUP, true, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			life := begin(t.Context(), errLeave, test.terminal)
			defer life.End()
			life.caught <- test.signal
			select {
			case <-life.Context().Done():
			case <-time.After(patience):
				t.Fatal("it goes on")
			}
			if cause := context.Cause(life.Context()); !errors.Is(cause, test.cause) {
				t.Errorf("the cause is %v", cause)
			}
		})
	}
}

func TestHangUpReloads(t *testing.T) {
	life := begin(t.Context(), errLeave, false)
	if err := unix.Kill(os.Getpid(), unix.SIGHUP); err != nil {
		t.Fatal(err)
	}
	select {
	case <-life.Reloads():
	case <-time.After(patience):
		t.Fatal("nothing is to be read again")
	}
	// Orders that nobody has taken yet are one, and nobody waits with them.
	for range 3 {
		life.caught <- unix.SIGHUP
	}
	select {
	case <-life.Reloads():
	case <-time.After(patience):
		t.Fatal("nothing is to be read again")
	}
	var ran bool
	life.Go(func() { <-life.Context().Done(); ran = true })
	life.End()
	if !ran {
		t.Error("a part was not waited for")
	}
}
