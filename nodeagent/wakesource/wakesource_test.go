package wakesource

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"score/channels/handover"
	"score/tests/await"
	"score/tests/child"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary be a process that waits for something.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "wait" {
		wait(os.Args[2:])
	}
	os.Exit(m.Run())
}

// wait never returns: its main goroutine waits as package pm does for another thread, without a
// time.
func wait(what []string) {
	switch what[0] {
	case "timer":
		time.AfterFunc(time.Hour, func() {})
	case "sleep": // a thread's own, not the run time's
		go func() {
			hour := unix.Timespec{Sec: 3600}
			_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &hour, nil)
		}()
	case "file":
		go func() {
			file, err := os.Open(what[1])
			if err == nil {
				_, _ = file.Read(make([]byte, 1))
			}
		}()
	case "stdin":
		go func() { _, _ = os.Stdin.Read(make([]byte, 1)) }()
	case "accept":
		listener, err := net.Listen("unix", what[1])
		if err == nil {
			go func() { _, _ = listener.Accept() }()
		}
	case "mapped":
		go waitLikeGo(what[1])
	case "poll":
		go func() { _, _ = unix.Poll([]unix.PollFd{{Fd: 0, Events: unix.POLLIN}}, -1) }()
	case "child":
		command := exec.Command("/proc/self/exe", "wait", "nothing")
		command.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
		if command.Start() == nil {
			go func() { _ = command.Wait() }()
		}
	case "rank": // it asks for a context before it waits
		if client, err := handover.Connect(what[1]); err == nil {
			_, _ = client.Image(1, handover.Own)
		}
	case "naps": // for ever; Go's monitor stops soon
		go func() {
			for {
				_ = unix.Nanosleep(&unix.Timespec{Nsec: 1_000_000}, nil)
			}
		}()
	case "spin":
		go func() {
			for { //nolint:staticcheck // it is to run
			}
		}()
	}
	os.Stdout.WriteString("ready\n")
	for {
		sleepForEver()
	}
}

// start starts a process that waits, and returns its number.
func start(t *testing.T, what ...string) int {
	t.Helper()
	command := exec.CommandContext(t.Context(), "/proc/self/exe", append([]string{"wait"}, what...)...)
	command.Stderr = os.Stderr
	child.Start(t, command).Line(t)
	return command.Process.Pid
}

// until waits until Find says what it is to say; a thread on its way there is none.
func until(t *testing.T, pid int, want string) {
	t.Helper()
	got := ""
	if err := await.Until(context.Background(), want, func() bool {
		got = Find([]int{pid}, Own{})
		return got == "" == (want == "") && strings.Contains(got, want)
	}); err != nil {
		t.Fatalf("found %q, want %q", got, want)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		what []string
		want string
	}{
		{[]string{"nothing"}, ""},
		{[]string{"child"}, ""},
		{[]string{"timer"}, forTime},
		{[]string{"sleep"}, forTime},
		{[]string{"file", pipe}, "is in system call"}, // open(2) of a named pipe without a writer
		{[]string{"stdin"}, "reads pipe:"},
		{[]string{"accept", filepath.Join(dir, "socket")}, forFile},
		{[]string{"poll"}, forFile},
		{[]string{"mapped", filepath.Join(dir, "mapped")}, forTime}, // its file is not read
		{[]string{"naps"}, "process"},
		{[]string{"spin"}, "runs"},
	} {
		t.Run(test.what[0], func(t *testing.T) {
			t.Parallel()
			until(t, start(t, test.what...), test.want)
		})
	}
}

// TestRank: a rank that has asked for its contexts has no timer left of that, with which it would
// look for ten seconds as if it waited for a time.
func TestRank(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	listener, err := handover.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	t.Cleanup(func() { // when the ranks have ended
		listener.Close()
		served.Wait()
	})
	served.Go(func() {
		for {
			conn, err := listener.AcceptUnix()
			if err != nil {
				return
			}
			served.Go(func() {
				handover.Server{Image: func(handover.Request) (*os.File, handover.Status) { return nil, handover.StatusRank }}.Serve(conn)
			})
		}
	})
	for range 5 {
		pid := start(t, "rank", socket)
		asked := time.Now()
		until(t, pid, "")
		if took := time.Since(asked); took > 5*time.Second {
			t.Fatalf("it waited for a time, for %v", took)
		}
	}
}

// TestFindWithWriter: a named pipe that another process has open for writing.
func TestFindWithWriter(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	until(t, start(t, "file", pipe), forFile) // by Go's poller
}

func TestFindNobody(t *testing.T) {
	if got := Find([]int{0}, Own{}); !strings.Contains(got, "cannot be looked at") {
		t.Errorf("no process: %q", got)
	}
	if got := Find(nil, Own{}); got != "" {
		t.Errorf("nobody: %q", got)
	}
}

// TestStopped: a process that was stopped in its wait, and let go, still says for what it waits.
func TestStopped(t *testing.T) {
	pid := start(t, "nothing")
	until(t, pid, "")
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	until(t, pid, "")
	sleeper := start(t, "sleep")
	until(t, sleeper, forTime)
	for _, signal := range []unix.Signal{unix.SIGSTOP, unix.SIGCONT} {
		if err := unix.Kill(sleeper, signal); err != nil {
			t.Fatal(err)
		}
	}
	until(t, sleeper, forTime)
}

func TestParseCall(t *testing.T) {
	for text, want := range map[string]bool{
		"202 0x694860 0x80 0x0 0x1 0x0 0x0 0x1 0x2\n": true,
		"running\n":              false,
		"-1 0x7ffc 0x7f\n":       false,
		"-1 0 0 0 0 0 0 0 0":     false,
		"":                       false,
		"202 0x1 x 0x0 0x1 0 0 ": false,
		"202 0x1":                false,
	} {
		if c, ok := parseCall(text); ok != want || ok && (c.number != 202 || c.args[1] != 0x80) {
			t.Errorf("%q: %+v, %v", text, c, ok)
		}
	}
}

func TestParseMapping(t *testing.T) {
	const from, to, image = 0x7f2809b10000, 0x7f280a258000, 95018
	for line, want := range map[string]struct {
		m     mapping
		inode uint64
		ok    bool
	}{
		"7f2809b10000-7f280a258000 rw-s 00000000 00:01 95018                      /memfd:score-ctx-1-1 (deleted)": {mapping{from, to, true}, image, true},
		"7f2809b10000-7f280a258000 rw-s 00000000 00:01 95018                      /home/memfd:x":                  {mapping{from, to, false}, image, true},
		"7f2809b10000-7f280a258000 rw-p 00000000 00:00 0":                                                         {mapping{from, to, false}, 0, true},
		"7f2809b10000-7f280a258000 rw-p 00000000 00:00 0                          [stack]":                        {mapping{from, to, false}, 0, true},
		"7f2809b10000 rw-s 00000000 00:01 95018 /memfd:x":                                                         {},
		"x-y rw-s 00000000 00:01 95018 /memfd:x":                                                                  {},
		" 0-0 rw-p 00000000 00:00 0":                                                                              {},
		"":                                                                                                        {},
	} {
		if m, inode, ok := parseMapping(line); ok != want.ok || ok && (inode != want.inode || m != want.m) {
			t.Errorf("%q: %+v, %d, %v", line, m, inode, ok)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("202 0x694860 0x80 0x0 0x1 0x0 0x0 0x1 0x2")
	f.Add("7f2809b10000-7f280a258000 rw-s 00000000 00:01 95018 /memfd:score-ctx-1-1 (deleted)")
	f.Fuzz(func(t *testing.T, text string) {
		if c, ok := parseCall(text); ok && c.number < 0 {
			t.Error(c)
		}
		if m, _, ok := parseMapping(text); ok && m.from >= m.to {
			t.Error(m)
		}
	})
}
