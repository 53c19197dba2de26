package ofi

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runAlone runs a program of the library that is no rank, after commands of the shell, and returns
// what it prints.
func runAlone(t *testing.T, source, before string) string {
	t.Helper()
	lib, program := filepath.Join(built, "lib"), filepath.Join(t.TempDir(), "program")
	compile := exec.Command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-I../../pm/lib/include", "-o", program,
		source, filepath.Join(lib, "libscore.so.1"))
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command("sh", "-ec", before+"\nexec "+program)
	run.Env = append(os.Environ(), "LD_LIBRARY_PATH="+lib)
	out, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestMonitorWakesSeldom: of the threads of Go's runtime, the monitor's timers may be late, and
// those of no other thread.
func TestMonitorWakesSeldom(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the kernel shows the slack of other threads to root; run as root")
	}
	out := runAlone(t, "testdata/threads/threads.c", "")
	const monitor, others = "10000000", "50000"
	count := map[string]int{}
	for _, slack := range strings.Fields(out) {
		count[slack]++
	}
	if count[monitor] != 1 || count[others] < 2 || len(count) != 2 {
		t.Errorf("threads by the slack of their timers: %v, want one of %s ns and all others of %s", count, monitor, others)
	}
}

// TestStacks: a program enters Go on any stack, whatever the limit of the first thread's.
func TestStacks(t *testing.T) {
	const want = "first 1\ndeep 1\ncoroutine 1\nthread 1\nagain 1\n"
	for _, limit := range []string{"8192", "7000", "unlimited"} {
		if out := runAlone(t, "testdata/stacks/stacks.c", "ulimit -s "+limit); out != want {
			t.Errorf("ulimit -s %s: %q", limit, out)
		}
	}
}
