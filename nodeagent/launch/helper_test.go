package launch

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// timeout bounds every wait of these tests; a machine that is busy with other
// things can be slow, a hang is longer than this.
const timeout = 60 * time.Second

// bench is a Forker with its Reaper, and what the Reaper reports.
type bench struct {
	*Forker
	reaper *Reaper
	exits  chan Exit
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{exits: make(chan Exit, 1024)}
	watched, err := newWatched()
	if err != nil {
		t.Fatal(err)
	}
	b.reaper = NewReaper(watched.watch)
	watched.reap(b.reaper, func(e Exit) { b.exits <- e })
	t.Cleanup(watched.close)
	if b.Forker, err = NewForker(b.reaper); err != nil {
		b.reaper.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.Close()
		b.reaper.Close()
	})
	return b
}

func (f *Forker) startOne(r *Rank) (*Process, error) {
	started, err := f.StartAll([]Rank{*r})
	if err != nil {
		return nil, err
	}
	return started[0], nil
}

// watched is an epoll set of pidfds.
type watched struct {
	epoll, end int
	done       chan struct{}
}

func newWatched() (*watched, error) {
	w := &watched{done: make(chan struct{})}
	var err error
	if w.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	if w.end, err = unix.Eventfd(0, unix.EFD_CLOEXEC); err != nil {
		return nil, err
	}
	return w, unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, w.end, &unix.EpollEvent{Events: unix.EPOLLIN})
}

func (w *watched) watch(pidfd, pid int) error {
	return unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, pidfd, &unix.EpollEvent{Events: WatchEvents, Fd: int32(pid)})
}

// reap calls onExit for every rank that ends.
func (w *watched) reap(r *Reaper, onExit func(Exit)) {
	go func() {
		defer close(w.done)
		events := make([]unix.EpollEvent, 16)
		for {
			n, _ := unix.EpollWait(w.epoll, events, -1)
			for _, e := range events[:max(n, 0)] {
				if e.Fd == 0 {
					return
				}
				if exit, ended := r.Reap(int(e.Fd)); ended {
					onExit(exit)
				}
			}
		}
	}()
}

func (w *watched) close() {
	_, _ = unix.Write(w.end, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	<-w.done
	unix.Close(w.end)
	unix.Close(w.epoll)
}

func (b *bench) exit(t testing.TB) Exit {
	t.Helper()
	select {
	case e := <-b.exits:
		return e
	case <-time.After(timeout):
		t.Fatal("no exit was reported")
		return Exit{}
	}
}

// shell is a rank that runs a line of /bin/sh. It reads nothing; what it writes
// goes to out.
func shell(t testing.TB, id int, line string, out *os.File) *Rank {
	t.Helper()
	null := devNull(t)
	if out == nil {
		out = null
	}
	return &Rank{
		ID: id, Path: "/bin/sh", Argv: []string{"sh", "-c", line}, Env: []string{"PATH=/usr/bin:/bin"},
		Dir: "/", Stdin: int(null.Fd()), Stdout: int(out.Fd()), Stderr: int(out.Fd()),
	}
}

func devNull(t testing.TB) *os.File {
	t.Helper()
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// output runs a line of shell to its end and returns what it wrote. set may
// change the rank.
func (b *bench) output(t testing.TB, line string, set func(*Rank)) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rank := shell(t, 0, line, w)
	if set != nil {
		set(rank)
	}
	_, err = b.startOne(rank)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if e := b.exit(t); e.Status != (ExitStatus{}) {
		t.Fatalf("%q %v: %s", line, e.Status, text)
	}
	return string(text)
}

// status is /proc/self/status of a rank, by key.
func (b *bench) status(t testing.TB, set func(*Rank)) map[string]string {
	t.Helper()
	fields := make(map[string]string)
	for line := range strings.Lines(b.output(t, "exec cat /proc/self/status", set)) {
		key, value, _ := strings.Cut(line, ":")
		fields[key] = strings.TrimSpace(value)
	}
	return fields
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to act as another user")
	}
}

// nobody is a user without any permission of the test's own.
var nobody = &User{UID: 65534, GID: 65533, Groups: []uint32{65532, 65531}}

// openDir is a directory that any user can reach; t.TempDir's parents are
// closed to others.
func openDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "launch")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t testing.TB, path string, text []byte, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func contains(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if err == nil || !bytes.Contains([]byte(err.Error()), []byte(w)) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}
