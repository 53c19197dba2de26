package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/cmd/scored/parentwatch"
	"score/tests/processes"
	"score/tests/socketdir"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// built is a directory with the programs, built once for all tests.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "score-programs")
	if err != nil {
		return "", err
	}
	builtDir = dir
	out, err := exec.Command("go", "build", "-o", dir, "score/cmd/scored", "score/cmd/scrun").CombinedOutput()
	if err != nil {
		return dir, fmt.Errorf("%w: %s", err, out)
	}
	return dir, nil
})

// builtDir is set once there is something to remove.
var builtDir string

// removeBuilt removes them, if any test has built them.
func removeBuilt() {
	if builtDir != "" {
		os.RemoveAll(builtDir)
	}
}

// alone prepares scrun to run without a cluster: with the programs built, in a
// directory for sockets of its own.
func alone(t *testing.T) (scrun func(arguments ...string) *exec.Cmd, runtimeDir string) {
	t.Helper()
	programs, err := built()
	if err != nil {
		t.Fatal(err)
	}
	dir := socketdir.Make(t)
	return func(arguments ...string) *exec.Cmd {
		command := exec.CommandContext(t.Context(), filepath.Join(programs, "scrun"), append([]string{"--cluster", "embedded"}, arguments...)...)
		command.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
		return command
	}, filepath.Join(dir, "score")
}

func TestEmbedded(t *testing.T) {
	scrun, dir := alone(t)
	for name, test := range map[string]struct {
		arguments []string
		code      int
		out, errs string
	}{
		"ranks":       {[]string{"-n", "3", "-o", "1", "sh", "-c", "echo $SCORE_RANK of $SCORE_SIZE"}, 0, "1 of 3\n", ""},
		"exit code":   {[]string{"sh", "-c", "exit 9"}, 9, "", ""},
		"input":       {[]string{"cat"}, 0, "typed\n", ""},
		"held":        {[]string{"-H", "true"}, 125, "", "scrun: --hold and --dependency need a cluster that has other jobs, and none is configured on this host: start one with 'scored dev'\n"},
		"no daemon":   {[]string{"-d", "true"}, 125, "", "scrun: a detached job needs a cluster that keeps running, and none is configured on this host: start one with 'scored dev'\n"},
		"many ranks":  {[]string{"-n", "40", "true"}, 0, "", ""},
		"bad program": {[]string{"/"}, 126, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			command := scrun(test.arguments...)
			command.Stdin = strings.NewReader("typed\n")
			code, out, errs := outcomeOf(t, command)
			if code != test.code || out != test.out || test.errs != "" && errs != test.errs {
				t.Errorf("exit code %d, output %q, errors %q; want %d, %q, %q", code, out, errs, test.code, test.out, test.errs)
			}
		})
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// However scrun or its cluster is killed, the ranks end.
func TestKilled(t *testing.T) {
	scrun, dir := alone(t)
	for _, victim := range []string{"scrun", "scored"} {
		t.Run(victim, func(t *testing.T) {
			pipe := filepath.Join(t.TempDir(), "pipe")
			if err := unix.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			command := scrun("sh", "-c", fmt.Sprintf("echo $$ > %s; exec sleep 1000", pipe))
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			var rank int
			if text, err := os.ReadFile(pipe); err != nil { // waits for the rank
				t.Fatal(err)
			} else if _, err := fmt.Sscan(string(text), &rank); err != nil {
				t.Fatal(err)
			}
			pid := command.Process.Pid
			if victim == "scored" {
				pid = onlyChild(t, pid)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = command.Wait()
			if err := processes.AwaitEnd(rank); err != nil {
				t.Error(err)
			}
		})
	}
	// The next run removes what the killed cluster left.
	if code, _, errs := outcomeOf(t, scrun("true")); code != 0 {
		t.Errorf("the run after: exit code %d, %s", code, errs)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "embedded-*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// onlyChild is the embedded cluster of a scrun.
func onlyChild(t *testing.T, parent int) int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		var child int
		if _, err := fmt.Sscan(string(text), &child); err == nil {
			return child
		}
	}
	t.Fatal("scrun has no child")
	return 0
}

// A scrun whose cluster stands still ends at a bound of its own when it is told to, with nothing
// left.
func TestTerminatedWhileTheClusterStandsStill(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a bound of many seconds; run without -short")
	}
	scrun, dir := alone(t)
	command := scrun("sh", "-c", "echo $$; exec sleep 1000")
	var errs bytes.Buffer
	command.Stderr = &errs
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var rank int
	if _, err := fmt.Fscan(out, &rank); err != nil {
		t.Fatal(err)
	}
	cluster := onlyChild(t, command.Process.Pid)
	// While one of its threads runs, it may take scrun's order and not carry it out.
	if err := processes.Stop(cluster); err != nil {
		t.Fatal(err)
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	bound := time.AfterFunc(2*orderTimeout+parentwatch.StopTimeout+time.Minute, func() { _ = syscall.Kill(cluster, syscall.SIGKILL) })
	_ = command.Wait()
	if !bound.Stop() {
		t.Errorf("it did not end by itself; %s", errs.String())
	}
	if code := command.ProcessState.ExitCode(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d; %s", code, errs.String())
	}
	if err := processes.AwaitEnd(rank); err != nil {
		t.Error(err)
	}
	nextRunSweeps(t, scrun("true"), dir)
}

// nextRunSweeps: what a killed cluster has left is removed by the user's next one.
func nextRunSweeps(t *testing.T, next *exec.Cmd, runtimeDir string) {
	t.Helper()
	killed, err := os.ReadDir(runtimeDir)
	if err != nil || len(killed) != 1 {
		t.Fatalf("directories of killed clusters: %v, %v", killed, err)
	}
	if out, err := next.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("the next run: %v, %s", err, out)
	}
	for _, root := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		if left, err := filepath.Glob(root + "score." + killed[0].Name() + ".*"); err != nil || len(left) > 0 {
			t.Errorf("it left %v, %v", left, err)
		}
	}
}
