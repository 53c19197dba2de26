package mem

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"score/channels/procstat"
	process "score/tests/child"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The tests start this binary again as other processes of a job. Such a process does what it reads
// line by line (commands_test.go), and answers each line by one.
const childEnv = "MEM_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		answer, err := commands[words[0]](words[1:])
		fmt.Println(name(err), answer)
	}
	os.Exit(0)
}

// name is a word for an error, and errorOf its inverse.
func name(err error) string {
	for word, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			return word
		}
	}
	if err != nil {
		return strings.ReplaceAll(err.Error(), " ", "_")
	}
	return "ok"
}

var sentinels = map[string]error{
	"memory": ErrMemory, "handle": ErrHandle, "gone": ErrGone, "denied": ErrDenied, "fault": ErrFault,
	"range": ErrRange, "closed": ErrClosed, "released": ErrReleased, "system": ErrSystem,
}

// child is another process.
type child struct {
	*process.Child
	start uint64
}

func (c *child) pid() int { return c.Process.Pid }

// startChild starts a process of this one's user.
func startChild(t testing.TB) *child {
	t.Helper()
	return startAs(t, nil)
}

// startUnprivileged starts a process without root's rights: of the user nobody if this one has
// them.
func startUnprivileged(t testing.TB) *child {
	t.Helper()
	if os.Geteuid() != 0 {
		return startAs(t, nil)
	}
	return startAs(t, &syscall.Credential{Uid: nobody, Gid: nobody})
}

func startAs(t testing.TB, user *syscall.Credential) *child {
	t.Helper()
	command := exec.Command("/proc/self/exe")
	command.Env = append(os.Environ(), childEnv+"=1", "GORACE=atexit_sleep_ms=0")
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	c := &child{Child: process.Start(t, command)}
	c.ask(t, "hello")
	stat, err := procstat.Read(c.pid())
	if err != nil {
		t.Fatal(err)
	}
	c.start = stat.Start
	return c
}

const (
	nobody    = 65534
	testLimit = 1 << 30 // of caches; no test maps as much
)

// ask has the process do something that must succeed.
func (c *child) ask(t testing.TB, format string, args ...any) string {
	t.Helper()
	result, answer := c.try(t, format, args...)
	if result != "ok" {
		t.Fatalf("%s: %s", fmt.Sprintf(format, args...), result)
	}
	return answer
}

func (c *child) try(t testing.TB, format string, args ...any) (result, answer string) {
	t.Helper()
	if _, err := fmt.Fprintf(c.In, format+"\n", args...); err != nil {
		t.Fatal(err)
	}
	result, answer, _ = strings.Cut(c.Line(t), " ")
	return result, answer
}

func (c *child) askHandle(t testing.TB, format string, args ...any) Handle {
	t.Helper()
	h, err := parseHex(c.ask(t, format, args...))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (c *child) askAddress(t testing.TB, format string, args ...any) uint64 {
	t.Helper()
	addr, err := strconv.ParseUint(c.ask(t, format, args...), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

func parseHex(text string) (Handle, error) {
	b, err := hex.DecodeString(text)
	if err != nil {
		return Handle{}, err
	}
	return ParseHandle(b)
}

// open opens the process as a peer with a cache of its own.
func (c *child) open(t testing.TB) *Peer {
	t.Helper()
	return openPeer(t, NewCache(testLimit), c.pid(), c.start)
}

func openPeer(t testing.TB, cache *Cache, pid int, start uint64) *Peer {
	t.Helper()
	p, err := cache.OpenPeer(pid, start)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// openSelf opens this process as a peer.
func openSelf(t testing.TB, cache *Cache) *Peer {
	t.Helper()
	return openPeer(t, cache, os.Getpid(), ownStart(t))
}

func ownStart(t testing.TB) uint64 {
	t.Helper()
	stat, err := procstat.Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return stat.Start
}

func newTestWindow(t testing.TB, size int) *Window {
	t.Helper()
	w, err := NewWindow(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// wantError fails if the error is another one.
func wantError(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}
