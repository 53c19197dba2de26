package stewardpool

import (
	"os"
	"path/filepath"
	"score/nodeagent/privateshm"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// mostJobs bounds the jobs in which a steward is to be used again: after each mount on the host, by
// other tests too, the next job gets another one.
const mostJobs = 50

// privatePool is a testPool whose jobs have a /dev/shm of their own.
func privatePool(t *testing.T, warm int) *Pool {
	t.Helper()
	if err := privateshm.Check(); err != nil {
		t.Skip("jobs cannot have a /dev/shm of their own here: ", err)
	}
	return testPool(t, warm, func(o *Options) { o.PrivateShm = true })
}

// A steward that is used again has an empty /dev/shm, and nothing is in the host's.
func TestTheNextJobFindsAnEmptyShm(t *testing.T) {
	p := privatePool(t, 1)
	path := filepath.Join(t.TempDir(), "seen")
	name := "score-test-" + filepath.Base(p.options.RunDir)
	pid, again := 0, false
	for n := 0; !again && n < mostJobs; n++ {
		s := serve(t, p, ann, "ls -A /dev/shm | grep -c "+name+" >"+path+"; echo text >/dev/shm/"+name)
		if !s.PrivateShm() {
			t.Fatal("it has the host's")
		}
		if seen, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(seen)) != "0" {
			t.Errorf("job %d: it finds %q, %v", n, seen, err)
		}
		if _, err := os.Stat(filepath.Join("/dev/shm", name)); err == nil {
			t.Error("the file is in the host's")
		}
		pid, again = s.Pid(), s.Pid() == pid
		p.Retire(t.Context(), s, notReading)
	}
	if !again {
		t.Error("no steward served a second job")
	}
}

// A job sees what the host has mounted after its steward was started, whether the mount reaches the
// steward or another one is taken.
func TestJobsSeeLaterMounts(t *testing.T) {
	p := privatePool(t, 1)
	p.maintain(t.Context())
	if p.Warm() != 1 {
		t.Fatal("no steward is warm")
	}
	used := serve(t, p, bob, "true")
	out, late := t.TempDir(), t.TempDir()
	if err := unix.Mount("none", late, "tmpfs", 0, "size=1M"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(late, unix.MNT_DETACH) })
	if err := os.WriteFile(filepath.Join(late, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p.Retire(t.Context(), used, notReading)
	for _, user := range []uint32{ann, bob} {
		s := serve(t, p, user, "ls "+late+" >"+filepath.Join(out, "seen"))
		if seen, err := os.ReadFile(filepath.Join(out, "seen")); err != nil || string(seen) != "file\n" {
			t.Errorf("user %d: it sees %q, %v", user, seen, err)
		}
		p.Retire(t.Context(), s, notReading)
	}
}
