package steward_test

import (
	"os"
	"path/filepath"
	"score/scored/api/scorev1"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// threadsOn counts the threads of a process, and those that may run on one CPU alone.
func threadsOn(t *testing.T, pid, cpu int) (count, all int) {
	t.Helper()
	threads, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	if err != nil {
		t.Fatal(err)
	}
	var want unix.CPUSet
	want.Set(cpu)
	for _, thread := range threads {
		var got unix.CPUSet
		id, err := strconv.Atoi(thread.Name())
		if err == nil && unix.SchedGetaffinity(id, &got) == nil && got == want {
			count++
		}
	}
	return count, len(threads)
}

// Much output is read and stored on the CPUs of the job that writes it; the next job's steward is
// free of them.
func TestMuchOutputIsReadOnTheJobsCPUs(t *testing.T) {
	if set := allowed(t); set.Count() < 2 || !set.IsSet(0) {
		t.Skip("there is no CPU beside the job's")
	}
	a := start(t, withCgroup)
	out := filepath.Join(t.TempDir(), "out")
	toFile := withSpec(func(s *scorev1.JobSpec) { s.Detached, s.StdoutPattern = true, out })
	const much = 4 << 20
	a.run(1, sh("head -c "+strconv.Itoa(much)+" /dev/zero"), toFile)
	a.exits()
	a.done()
	if info, err := os.Stat(out); err != nil || info.Size() != much {
		t.Fatal(info, err)
	}
	if got, all := threadsOn(t, a.process.Pid, 0); got != all {
		t.Errorf("%d of %d threads keep to the job's CPU", got, all)
	}
	a.recycle()
	a.run(1, sh("echo little"), toFile)
	a.exits()
	a.done()
	if got, _ := threadsOn(t, a.process.Pid, 0); got != 0 {
		t.Errorf("%d threads keep to the CPU of a job that writes little", got)
	}
	a.do(a.conn.Forget())
}
