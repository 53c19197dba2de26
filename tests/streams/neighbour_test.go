package streams

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"strconv"
	"syscall"
	"testing"
	"time"
)

const (
	// floodEach is how much output is looked at for each CPU while others compute, in bytes: some
	// seconds' worth.
	floodEach = 4 << 20
	// boundEach is how much of it may come in a second at most for each CPU: what is carried, with
	// room for what waited on the way.
	boundEach = 3 << 20
	// maxCost is the part of the machine's CPUs that carrying may take from those who compute. A
	// few hundredths are meant; a busy machine makes the same work longer. Without a bound it takes
	// most of a machine of two CPUs.
	maxCost = 0.1
	// burstStep is how much is passed at a time until the pace shows, and maxBurstEach how much may
	// come at once for each CPU: what is saved up, in the largest messages 80 MB, what is carried
	// meanwhile, and what waits on the way.
	burstStep, maxBurstEach = 8 << 20, 128 << 20
	// alone is how much comes when the others have ended, and how much faster at least.
	alone, gain = 96 << 20, 1.5
)

// A job that writes or reads as fast as it can beside another user's job, which computes on all
// other CPUs, takes next to nothing from it: the daemons and scrun carry a bounded amount. When the
// other job has ended they carry as much as comes.
func TestFloodBesideNeighbour(t *testing.T) {
	cpus := runtime.NumCPU()
	if cpus < 2 {
		t.Skip("jobs do not compute beside each other on one CPU")
	}
	for _, test := range []struct {
		name    string
		program []string
		pass    func(t *testing.T, flood *exec.Cmd) (pass func(bytes int))
	}{
		{"output", []string{"cat", "/dev/zero"}, passOutput},
		{"input", []string{"sh", "-c", "cat >/dev/null"}, passInput},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := daemonstest.NewScene(t, daemons.Options{Bin: bin, Nodes: 1, Grace: 5 * time.Second})
			s.Check(os.Chmod(bin, 0o755)) //nolint:gosec // another user must reach scrun
			computes := scrun(s.Cluster, s.Socket(), eve, "-n", strconv.Itoa(cpus-1), "--mem", "16M", "sh", "-c", "while :; do :; done")
			begin(t, computes)
			s.Await("the neighbour computes", func() bool { return running(s) == 1 })
			flood := scrun(s.Cluster, s.Socket(), 0, append([]string{"-n", "1", "--mem", "16M"}, test.program...)...)
			pass := test.pass(t, flood)
			endFlood := begin(t, flood)
			compareFlood(s, cpus, pass, func() {
				s.Check(computes.Process.Signal(syscall.SIGTERM)) // which it passes on
				s.Await("the neighbour's job has ended", func() bool { return running(s) == 1 })
			})
			endFlood()
			s.Await("the job ends with its scrun", func() bool { return running(s) == 0 })
			s.End()
		})
	}
}

// compareFlood looks at a stream beside the neighbour and without it.
func compareFlood(s *daemonstest.Scene, cpus int, pass func(bytes int), endNeighbour func()) {
	t := s.T
	burst := passBurst(t, cpus, pass)
	took, cost := carryingCost(s, func() { pass(floodEach * cpus) })
	rate := float64(floodEach*cpus) / took.Seconds()
	t.Logf("beside a neighbour: %.1f MB/s, at the cost of %.1f %% of the CPUs", rate/1e6, 100*cost)
	t.Logf("at first: %.1f MB/s", burst/1e6)
	if burst < gain*rate {
		t.Errorf("%.1f MB/s pass at first, %.1f later: nothing may come at once", burst/1e6, rate/1e6)
	}
	if rate > float64(boundEach*cpus) {
		t.Errorf("%.1f MB/s pass beside a neighbour, want %.1f at most", rate/1e6, float64(boundEach*cpus)/1e6)
	}
	if cost > maxCost {
		t.Errorf("carrying takes %.1f %% of the CPUs, want %.1f at most", 100*cost, 100*maxCost)
	}
	endNeighbour()
	began := time.Now()
	pass(alone)
	free := float64(alone) / time.Since(began).Seconds()
	t.Logf("alone: %.1f MB/s", free/1e6)
	if free < gain*rate {
		t.Errorf("%.1f MB/s pass without a neighbour, %.1f beside one", free/1e6, rate/1e6)
	}
}

// passBurst passes what may come at once, and returns the bytes per second of its first part. A
// busy machine makes one step slow; the burst is over when two in a row are.
func passBurst(t *testing.T, cpus int, pass func(bytes int)) (first float64) {
	t.Helper()
	slow := 0
	for passed := 0; passed < maxBurstEach*cpus; passed += burstStep {
		began := time.Now()
		pass(burstStep)
		rate := burstStep / time.Since(began).Seconds()
		if first == 0 {
			first = rate
		}
		if slow++; rate >= float64(boundEach*cpus) {
			slow = 0
		}
		if slow == 2 {
			return first
		}
	}
	t.Errorf("%d MB came at once", maxBurstEach*cpus>>20)
	return first
}

// passOutput reads what the job writes.
func passOutput(t *testing.T, flood *exec.Cmd) (pass func(bytes int)) {
	output, err := flood.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	return func(bytes int) {
		if _, err := io.CopyN(io.Discard, output, int64(bytes)); err != nil {
			t.Fatal(err)
		}
	}
}

// passInput writes what the job reads.
func passInput(t *testing.T, flood *exec.Cmd) (pass func(bytes int)) {
	input, err := flood.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	chunk := make([]byte, 64<<10)
	return func(bytes int) {
		for range bytes / len(chunk) {
			if _, err := input.Write(chunk); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// carryingCost is how long something took, and what part of the machine's CPUs the daemons and
// scruns had meanwhile.
func carryingCost(s *daemonstest.Scene, do func()) (took time.Duration, part float64) {
	before, began := carriersRan(s), time.Now()
	do()
	took = time.Since(began)
	ran := carriersRan(s) - before
	return took, ran.Seconds() / took.Seconds() / float64(runtime.NumCPU())
}

func carriersRan(s *daemonstest.Scene) (ran time.Duration) {
	for _, p := range s.Processes() {
		if p.Role != daemons.RoleRank {
			ran += p.ProcessorTime()
		}
	}
	return ran
}
