package parentwatch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"score/cmd/scored/parentwatch"
	"score/tests/processes"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// roleVariable makes this test binary play the child.
const roleVariable = "SCORE_TEST_LIFELINE_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(child(role))
	}
	os.Exit(m.Run())
}

func child(role string) int {
	line, err := parentwatch.Inherited()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer line.Close()
	switch role {
	case "ready":
		line.Ready("/some/path")
	case "fails":
		line.Failed("the data directory\nis taken")
		return 1
	case "long":
		line.Failed(strings.Repeat("x", 1<<20))
		return 1
	case "ends":
		return 0
	case "silent":
	case "nested":
		return nested(line)
	}
	<-line.Gone()
	return 0
}

// nested plays a parent between: it starts a child and is then killed.
func nested(line *parentwatch.Line) int {
	grandchild, err := parentwatch.Start(context.Background(), self("ready"))
	if err != nil {
		line.Failed(err.Error())
		return 1
	}
	line.Ready(fmt.Sprint(grandchild.PID()))
	select {}
}

func self(role string) *exec.Cmd {
	command := exec.Command("/proc/self/exe")
	command.Env = append(os.Environ(), roleVariable+"="+role)
	command.Stderr = os.Stderr
	return command
}

func TestReady(t *testing.T) {
	child, err := parentwatch.Start(t.Context(), self("ready"))
	if err != nil {
		t.Fatal(err)
	}
	if child.ReadyText() != "/some/path" {
		t.Errorf("the child said %q", child.ReadyText())
	}
	select {
	case <-child.Exited():
		t.Error("the child ended although its parent is there")
	default:
	}
	if session, err := unix.Getsid(child.PID()); err != nil || session != child.PID() {
		t.Errorf("the child is in session %d, %v; want its own, with a share of the processors", session, err)
	}
	child.Stop()
	<-child.Exited()
}

func TestFailures(t *testing.T) {
	for role, want := range map[string]string{
		"fails": "the data directory is taken",
		"long":  strings.Repeat("x", 4096-len("failed")-2),
		"ends":  "exe ended before it was ready",
	} {
		if _, err := parentwatch.Start(t.Context(), self(role)); err == nil || err.Error() != want {
			t.Errorf("%s: %.80v, want %.80s", role, err, want)
		}
	}
	if _, err := parentwatch.Start(t.Context(), exec.Command("/does/not/exist")); err == nil {
		t.Error("a program that does not exist was started")
	}
}

func TestGivingUp(t *testing.T) {
	patience := errors.New("the cluster was not ready in time")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, patience)
	defer cancel()
	if _, err := parentwatch.Start(ctx, self("silent")); !errors.Is(err, patience) {
		t.Errorf("got %v, want %v", err, patience)
	}
}

// A parent that is killed with signal 9 takes the child along.
func TestKilledParent(t *testing.T) {
	command := self("nested")
	parent, err := parentwatch.Start(t.Context(), command)
	if err != nil {
		t.Fatal(err)
	}
	var grandchild int
	if _, err := fmt.Sscan(parent.ReadyText(), &grandchild); err != nil {
		t.Fatal(err)
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-parent.Exited()
	if err := processes.AwaitEnd(grandchild); err != nil {
		t.Error(err)
	}
}
