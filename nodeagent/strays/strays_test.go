package strays

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"score/tests/tracer"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// self is the user of the processes.
var self = uint32(os.Geteuid())

// TestMain lets the test binary be a process that hides its environment.
func TestMain(m *testing.M) {
	if path := os.Getenv(hideVariable); path != "" {
		fmt.Fprintln(os.Stderr, hide(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func kill(t *testing.T, uid uint32, mark string) {
	t.Helper()
	if err := New().Kill(t.Context(), uid, mark); err != nil {
		t.Error(err)
	}
}

// A user's process is not killed because another user's job has put its mark into its environment.
func TestOthersProcessesAreLeftAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has processes of several users")
	}
	const other = 61_234
	mark := fmt.Sprintf("%s=others-%d", Variable, os.Getpid())
	start := func(uid uint32) <-chan error {
		command := exec.Command("sleep", "1000")
		command.Env, command.Dir = []string{mark}, "/"
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- command.Wait() }()
		t.Cleanup(func() { _ = command.Process.Kill() })
		return ended
	}
	roots, others := start(0), start(other)
	kill(t, other, mark)
	<-others
	select {
	case <-roots:
		t.Error("root's process was killed")
	default:
	}
}

// A process that executes a program shows no environment for an instant. It is found all the same.
func TestStrayInTheMidstOfAnExec(t *testing.T) {
	script := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(script, []byte("exec /bin/sh \"$0\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const rounds, timeout = 100, time.Minute
	for i := range rounds {
		mark := fmt.Sprintf("%s=test-%d-%d", Variable, os.Getpid(), i)
		stray := exec.Command("/bin/sh", script)
		stray.Env = []string{mark}
		if err := stray.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			_ = stray.Wait() // it is killed
			close(ended)
		}()
		kill(t, self, mark)
		select {
		case <-ended:
		case <-time.After(timeout):
			_ = stray.Process.Kill() // the test has failed
			<-ended
			t.Fatalf("round %d: the stray was not found", i)
		}
	}
}

// The kernel gives a program its environment in steps, between which the process can be seen.
func TestStepsOfAnExec(t *testing.T) {
	for name, c := range map[string]struct {
		state, flags, startCode, envStart, envEnd string
		want                                      bool
	}{
		"no memory yet":                  {"R", "4194304", "0", "0", "0", true},
		"the start of the environment":   {"R", "4194304", "0", "140722", "140722", true},
		"its end":                        {"R", "4194304", "0", "140722", "140725", true},
		"it runs":                        {"S", "4194304", "9400", "140722", "140725", true},
		"it runs without an environment": {"S", "4194304", "9400", "140722", "140722", false},
		"it is dead":                     {"Z", "4194304", "0", "0", "0", false},
		"it is gone":                     {"X", "4194304", "0", "0", "0", false},
		"a thread of the kernel":         {"S", "2129984", "0", "0", "0", false},
	} {
		fields := slices.Repeat([]string{"1"}, 52)
		fields[0], fields[1] = "7", "(a ) b)"
		fields[2], fields[8], fields[25], fields[49], fields[50] = c.state, c.flags, c.startCode, c.envStart, c.envEnd
		if got := statMayHaveMore([]byte(strings.Join(fields, " ") + "\n")); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Only who executes a program is worth another look.
func TestExecingProcessIsCheckedAgain(t *testing.T) {
	bare := exec.Command("/bin/sleep", "1000")
	bare.Env = []string{}
	if err := bare.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = bare.Process.Kill() // it lives
		_ = bare.Wait()
	}()
	// Start may return before the kernel is through with the exec.
	for until := time.Now().Add(time.Minute); mayHaveMore(bare.Process.Pid); {
		if time.Now().After(until) {
			t.Fatal("a program without environment may have one")
		}
		runtime.Gosched()
	}
	if !mayHaveMore(os.Getpid()) {
		t.Error("this process, which has an environment, may have none")
	}
	const kthreadd = 2
	if name, err := os.ReadFile("/proc/2/comm"); err == nil && string(name) == "kthreadd\n" && mayHaveMore(kthreadd) {
		t.Error("a thread of the kernel may have an environment")
	}
}

func TestStraysAreKilledByTheirMark(t *testing.T) {
	start := func(environ ...string) <-chan error {
		command := exec.Command("sleep", "1000")
		command.Env = environ
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- command.Wait() }()
		t.Cleanup(func() { _ = command.Process.Kill() })
		return ended
	}
	mark := Variable + "=test-" + time.Now().Format(time.RFC3339Nano) + "-1"
	ended := start("A=b", mark)
	other := start(mark+"2", "B="+mark)
	kill(t, self, mark)
	<-ended
	select {
	case <-other:
		t.Error("a process without the mark was killed")
	default:
	}
	if hasMark([]byte("A=b\x00"+mark+"2\x00"), mark) || hasMark(nil, mark) {
		t.Error("a mark where there is none")
	}
}

// A process that the kernel does not end is searched for until the context ends.
func TestAProcessThatDoesNotEnd(t *testing.T) {
	mark := fmt.Sprintf("%s=held-%d", Variable, os.Getpid())
	stray := exec.Command("sleep", "1000")
	stray.Env = []string{mark}
	if err := stray.Start(); err != nil {
		t.Fatal(err)
	}
	tracing := tracer.Hold(t, stray.Process.Pid, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := New().Kill(ctx, self, mark); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	_ = tracing.Process.Kill()
	_ = stray.Wait() // it was killed
}

// Such a process is searched for seldom: each search reads all of /proc.
func TestSearchesBecomeSeldom(t *testing.T) {
	const during, most = 2 * time.Second, 11
	searches := 0
	for at, pause := time.Duration(0), firstPause; at < during; at, pause = at+pause, longer(pause) {
		searches++
	}
	if searches > most {
		t.Errorf("%d searches in %v, want at most %d", searches, during, most)
	}
}
