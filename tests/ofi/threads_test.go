package ofi

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMonitorWakesSeldom: of the threads of Go's runtime, the monitor's timers may be late, and those
// of no other thread.
func TestMonitorWakesSeldom(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the kernel shows the slack of other threads to root; run as root")
	}
	lib, program := filepath.Join(built, "lib"), filepath.Join(t.TempDir(), "threads")
	compile := exec.Command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-I../../pm/lib/include", "-o", program,
		"testdata/threads/threads.c", filepath.Join(lib, "libscore.so.1"))
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command(program)
	run.Env = append(os.Environ(), "LD_LIBRARY_PATH="+lib)
	out, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	const monitor, others = "10000000", "50000"
	count := map[string]int{}
	for _, slack := range strings.Fields(string(out)) {
		count[slack]++
	}
	if count[monitor] != 1 || count[others] < 2 || len(count) != 2 {
		t.Errorf("threads by the slack of their timers: %v, want one of %s ns and all others of %s", count, monitor, others)
	}
}
