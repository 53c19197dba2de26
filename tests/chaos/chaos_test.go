package chaos

import (
	"context"
	"math/rand/v2"
	"os/exec"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"sync"
	"testing"
	"time"
)

const (
	// slice is short, so that faults meet switches.
	slice = 10 * time.Millisecond
	// workers submit at once: more than the nodes have CPUs, so that gangs share them in time.
	workers = 6
	// dataDisk holds the log of a run of twelve minutes, and is filled in a moment.
	dataDisk = 96 << 20
	// grace is longer than any fault keeps an agent away.
	grace = time.Minute
)

var (
	servers = []string{"s1", "s2", "s3"}
	nodes   = []string{"n1", "n2", "n3"}
	// spares are hosts for the servers that take the places of those that have lost their
	// directories.
	spares = []string{"s4", "s5", "s6", "s7", "s8", "s9"}
)

// Whatever happens to daemons, disks and cables: each submission ends as it should.
func TestChaos(t *testing.T) {
	w := newWorld(t)
	w.calm() // programs are loaded, tables have come to their size
	before := w.needs()
	began := time.Now()
	storm, stop := context.WithTimeout(t.Context(), *length)
	defer stop()
	var faults, load sync.WaitGroup
	for i, menu := range [][]fault{serverFaults, nodeFaults, programFaults} {
		faults.Go(func() { w.injure(storm, w.random(uint64(i)), menu) })
	}
	for i := range workers {
		load.Go(func() { w.work(storm, w.random(uint64(100+i))) })
	}
	faults.Wait()
	w.Check(w.Network.Mend())
	load.Wait()
	w.Check(w.AwaitUp(w.Ctx))
	w.calm()
	w.Check(w.AwaitForgotten(w.Ctx))
	w.Check(w.AwaitClean(w.Ctx, nil))
	w.needs().within(t, before)
	w.report(time.Since(began))
}

// world is the cluster and what has happened in it.
type world struct {
	*daemonstest.Scene
	seed uint64

	mu          sync.Mutex
	events      []event
	running     map[*submission]bool
	outcomes    map[string]int // submissions by kind and how they ended
	wrong       []string       // submissions, a line each
	injected    map[string]int // faults by name
	submissions int
	spares      []string
	watching    map[*daemons.Daemon]*sync.Mutex // is held while something is done to the daemon
}

func newWorld(t *testing.T) *world {
	t.Helper()
	daemonstest.NeedRoot(t)
	for _, program := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("hosts need the program %s; run .ci/setup test", program)
		}
	}
	network, err := daemons.NewNetwork(append(append(append([]string{}, servers...), nodes...), spares...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // runs after the cluster's own
		if err := network.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{
		seed: *seed, running: map[*submission]bool{}, outcomes: map[string]int{}, injected: map[string]int{},
		spares: spares, watching: map[*daemons.Daemon]*sync.Mutex{},
	}
	if w.seed == 0 {
		w.seed = rand.Uint64N(1 << 32)
	}
	t.Logf("seed %d", w.seed)
	w.Scene = daemonstest.NewScene(t, daemons.Options{
		Bin: bin, Servers: len(servers), Nodes: len(nodes), Network: network, DataDisk: dataDisk, Slice: slice, Grace: grace,
	})
	for _, d := range w.Servers {
		w.watch(d)
	}
	for _, d := range w.Agents {
		w.watch(d)
	}
	return w
}

// random gives one of the run's sources.
func (w *world) random(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(w.seed, stream)) }

// report tells what was done.
func (w *world) report(took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.T.Logf("seed %d, %v: %d submissions, %d faults", w.seed, took.Round(time.Second), w.submissions, len(w.events))
	for _, name := range sorted(w.injected) {
		w.T.Logf("  fault %-28s %d", name, w.injected[name])
	}
	for _, name := range sorted(w.outcomes) {
		w.T.Logf("  job   %-28s %d", name, w.outcomes[name])
	}
	for _, line := range w.wrong { // again: what comes last is what is read first
		w.T.Logf("  WRONG %s", line)
	}
}
