package stewardpool

import (
	"os"
	"path/filepath"
	"score/nodeagent/privateipc"
	"strconv"
	"strings"
	"testing"
)

// A steward that is used again has a new IPC namespace if the last job has used it, and its ranks
// are in it, not the steward's other threads.
func TestTheNextJobFindsNoMemoryOfTheLast(t *testing.T) {
	if err := privateipc.Check(); err != nil {
		t.Skip("jobs cannot have an IPC namespace of their own here: ", err)
	}
	p := privatePool(t, 1)
	p.options.PrivateIPC = true
	host, err := os.Readlink("/proc/self/ns/ipc")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "seen")
	last, pid, again := "", 0, 0
	for n := 0; again < 2 && n < mostJobs; n++ {
		s := serve(t, p, ann, "readlink /proc/self/ns/ipc >"+out+" && ipcs -m | grep -c 0x >>"+out+"; ipcmk -M 4096 -p 0666")
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		space, left, _ := strings.Cut(string(text), "\n")
		if s.Pid() != pid {
			last = "" // whose number the kernel may give to another one
		} else {
			again++
		}
		if space == host || space == last || strings.TrimSpace(left) != "0" {
			t.Errorf("namespace %s (host's %s, the last job's %s), segments %q", space, host, last, left)
		}
		last, pid = space, s.Pid()
		if own, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "ns/ipc")); err != nil || own != host {
			t.Errorf("the steward's own namespace is %s, %v", own, err)
		}
		p.Retire(t.Context(), s, notReading)
	}
	if again < 2 {
		t.Errorf("in %d jobs a steward was used again %d times", mostJobs, again)
	}
}
