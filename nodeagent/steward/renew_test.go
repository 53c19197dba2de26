package steward_test

import (
	"os"
	"path/filepath"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/scorev1"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// recycle has the steward become free, and forgets what it told of its job.
func (a *agent) recycle() {
	a.t.Helper()
	a.do(a.conn.Recycle())
	status := await(a, "Status", 0, (*stewardpb.FromSteward).GetStatus)
	if status.GetJobId() != 0 || status.GetDone() || len(status.GetPids()) > 0 {
		a.t.Fatalf("free, but %v", status)
	}
	a.mu.Lock()
	a.heard = nil
	a.mu.Unlock()
	a.conn = a.conn.Next()
}

func withJob(id uint64) change {
	return func(p *stewardpb.PrepareJob) { p.Job.JobId = id }
}

// openFiles names what a steward has open, sorted; sockets and pipes lose their
// numbers.
func openFiles(t *testing.T, pid int) []string {
	t.Helper()
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // the directory's own
		}
		kind, _, _ := strings.Cut(target, ":")
		names = append(names, kind)
	}
	slices.Sort(names)
	return names
}

// battery runs jobs of every kind that end well, each on a steward that is
// free, and leaves the steward free.
func battery(t *testing.T, a *agent) {
	t.Run("exit codes and output", func(t *testing.T) {
		a.run(2, sh(`echo out $SCORE_RANK of $SCORE_SIZE; echo err >&2; exit $SCORE_RANK`))
		texts := readAll(t, a.stdio())
		exits := a.exits()
		if exits[0].GetExitCode() != 0 || exits[1].GetExitCode() != 1 {
			t.Errorf("exits %v", exits)
		}
		if texts[stream{1, 1}] != "out 1 of 2\n" || texts[stream{0, 2}] != "err\n" {
			t.Errorf("output %v", texts)
		}
		a.recycle()
	})
	t.Run("input", func(t *testing.T) {
		a.run(1, []string{"/bin/cat"}, withJob(8))
		s := a.stdio()
		a.do(s.Send(&scorev1.Stdin{Data: []byte("hello"), Eof: true}))
		if got := readAll(t, s)[stream{0, 1}]; got != "hello" {
			t.Errorf("the rank read %q", got)
		}
		a.done()
		a.recycle()
	})
	t.Run("PMI", func(t *testing.T) {
		needBash(t)
		a.run(2, speaking(`say "cmd=put kvsname=score_9 key=k$PMI_RANK value=v$PMI_RANK"
say "cmd=barrier_in"
say "cmd=get kvsname=score_9 key=k$((1 - PMI_RANK))"; [ "${a%value=v$((1 - PMI_RANK))*}" != "$a" ] || exit 5
say "cmd=get kvsname=score_9 key=left"; [ "${a%rc=0*}" = "$a" ] || exit 6
say "cmd=finalize"`), withJob(9))
		readAll(t, a.stdio())
		for rank, e := range a.exits() {
			if e.GetExitCode() != 0 || e.GetBeforeFinalize() {
				t.Errorf("rank %d: %v", rank, e)
			}
		}
		a.recycle()
	})
	t.Run("detached, in a file, with a mask of its own", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "out")
		a.run(3, sh(`echo rank $SCORE_RANK; umask`), withJob(10), withSpec(func(s *scorev1.JobSpec) {
			s.Detached, s.StdoutPattern, s.Umask = true, file, 0o77
		}))
		a.done()
		readAll(t, a.stdio())
		text, err := os.ReadFile(file)
		if err != nil || strings.Count(string(text), "rank ") != 3 || strings.Count(string(text), "0077\n") != 3 {
			t.Errorf("the file has %q (%v)", text, err)
		}
		a.recycle()
	})
	t.Run("a program that is not there", func(t *testing.T) {
		a.do(a.conn.Prepare(a.order(1, []string{"/nowhere/prog"}, withJob(11))))
		if p := a.prepared(); p.GetExitCode() != 127 || p.GetJobId() != 11 {
			t.Errorf("prepared: %v", p)
		}
		a.recycle()
	})
	t.Run("usage is the job's own", func(t *testing.T) {
		a.run(1, sh("exit 0"), withJob(12))
		readAll(t, a.stdio())
		exit, usage := a.exit(0), a.done().GetUsage()
		// The group counts what the ranks do not: exec and exit, to some extent.
		if got := usage.GetCpuNanos(); got < exit.GetCpuNanos() || got > exit.GetCpuNanos()+20e6 {
			t.Errorf("%d ns of the job, %d ns of its rank", got, exit.GetCpuNanos())
		}
		a.recycle()
	})
	t.Run("a signal", func(t *testing.T) {
		a.run(1, sh("read x; exit 3"), withJob(13))
		s := a.stdio()
		a.do(a.conn.Signal(int32(unix.SIGURG))) // ignored by default
		a.do(s.Send(&scorev1.Stdin{Data: []byte("\n"), Eof: true}))
		readAll(t, s)
		if e := a.exit(0); e.GetExitCode() != 3 {
			t.Errorf("exit %v", e)
		}
		a.done()
		a.recycle()
	})
}

// TestRecycledStewardIsLikeNew runs the same jobs on one steward again and
// again: what holds of a new one holds of one that has had them all.
func TestRecycledStewardIsLikeNew(t *testing.T) {
	a := start(t, withCgroup)
	t.Run("new", func(t *testing.T) { battery(t, a) })
	before := openFiles(t, a.process.Pid)
	t.Run("recycled", func(t *testing.T) { battery(t, a) })
	if after := openFiles(t, a.process.Pid); !slices.Equal(before, after) {
		t.Errorf("open files: %v, before: %v", after, before)
	}
	a.do(a.conn.Forget())
	a.left()
}

func TestStewardsThatAreNotRecycled(t *testing.T) {
	var stack unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &stack); err != nil {
		t.Fatal(err)
	}
	core := uint64(4096)
	if stack.Cur == core {
		core *= 2
	}
	for _, tt := range []struct {
		name    string
		options []option
		change  change
		script  string
	}{
		{"a rank died", []option{withCgroup}, func(*stewardpb.PrepareJob) {}, "kill -9 $$"},
		{"a process was left behind", []option{withCgroup}, func(*stewardpb.PrepareJob) {}, "sleep 1000 <&- >&- 2>&- &"},
		{"a limit was set on the steward", []option{withCgroup}, withSpec(func(s *scorev1.JobSpec) {
			s.Limits = []*scorev1.ResourceLimit{{Resource: unix.RLIMIT_CORE, Soft: core, Hard: max(core, stack.Max)}}
		}), "exit 0"},
		{"without a control group", nil, func(*stewardpb.PrepareJob) {}, "exit 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := start(t, tt.options...)
			a.run(1, sh(tt.script), tt.change)
			readAll(t, a.stdio())
			a.done()
			a.do(a.conn.Recycle())
			a.left()
		})
	}
}

func TestAReaderOfTheLastJobIsTurnedAway(t *testing.T) {
	a := start(t, withCgroup)
	a.run(1, sh("exit 0"))
	readAll(t, a.stdio())
	a.done()
	a.recycle()
	a.run(1, sh("echo secret"), withJob(8))
	late := a.stdioOf(testJob)
	if out, drained, err := late.Receive(); err == nil {
		t.Errorf("a reader of job %d got %v (drained: %v) of job 8", testJob, out, drained)
	}
	if got := readAll(t, a.stdioOf(8))[stream{0, 1}]; got != "secret\n" {
		t.Errorf("the reader of job 8 got %q", got)
	}
}

func TestALateOrderReachesNoOtherJob(t *testing.T) {
	a := start(t, withCgroup)
	a.run(1, sh("exit 0"))
	readAll(t, a.stdio())
	a.done()
	last := a.conn
	a.recycle()
	a.run(1, []string{"/bin/cat"}, withJob(8))
	a.launched()
	if err := last.Kill(); err == nil {
		t.Error("the last job's connection still sends")
	}
	s := a.stdio()
	a.do(s.Send(&scorev1.Stdin{Eof: true}))
	readAll(t, s)
	if e := a.exit(0); e.GetSignal() != 0 {
		t.Errorf("the second job was ended by an order for the first: %v", e)
	}
	a.done()
}
