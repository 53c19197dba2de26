package fabric

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
)

const (
	// slice is long enough for a look at one gang while the other is on. On a busy machine a look
	// takes longer: then slices are made longer, up to maxSlice.
	slice    = 500 * time.Millisecond
	maxSlice = 8 * time.Second
)

// bin is the directory of the freshly built programs.
var bin string

func TestMain(m *testing.M) { os.Exit(daemonstest.Run(m, &bin)) }

// build makes the libraries for C programs and the program of these tests, once.
var build = sync.OnceValues(func() (program string, err error) {
	program = filepath.Join(bin, "talk")
	for _, command := range []*exec.Cmd{
		exec.Command("../../pm/lib/build", libraries()),
		exec.Command("mpicc.openmpi", "-O2", "-w", "-o", program, "testdata/talk.c"),
	} {
		if out, err := command.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", command, err, out)
		}
	}
	return program, nil
})

func libraries() string { return filepath.Join(bin, "lib") }

// scene is two nodes, each with a network and one CPU of its own.
type scene struct {
	*daemonstest.Scene
	network *daemons.Network
	program string
	started uint64
	slice   time.Duration
}

var nodes = []string{"n1", "n2"}

func newScene(t *testing.T) *scene {
	t.Helper()
	daemonstest.NeedRoot(t)
	for _, program := range []string{"ip", "nsenter", "mpicc.openmpi"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("these tests need the program %s; run .ci/setup test", program)
		}
	}
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SCORE_FABRIC_DIR", libraries())
	network, err := daemons.NewNetwork(append([]string{"s1"}, nodes...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // runs after the cluster's own
		if err := network.Close(); err != nil {
			t.Error(err)
		}
	})
	return &scene{
		Scene:   daemonstest.NewScene(t, daemons.Options{Bin: bin, Servers: 1, Nodes: len(nodes), Network: network, Slice: slice, OneCPU: true}),
		network: network, program: program, slice: slice,
	}
}

// setSlice changes the slice of the rotation.
func (s *scene) setSlice(d time.Duration) {
	s.T.Helper()
	_, err := s.Cluster.Cluster.SetSettings(s.Ctx, connect.NewRequest(&scorev1.SetSettingsRequest{
		Settings: &scorev1.Settings{SliceNanos: d.Nanoseconds()}, Fields: []string{"slice_nanos"},
	}))
	s.Check(err)
	s.slice = d
}

// job is a job that communicates, with the scrun that waits for it.
type job struct {
	id    uint64
	scrun *daemonstest.Program
}

// talk starts a job and waits until it runs.
func (s *scene) talk(options ...string) *job {
	s.T.Helper()
	s.started++
	line := append(append([]string{"-q", "-N", "2", "-s"}, options...), s.program)
	j := &job{s.started, daemonstest.Begin(s.T, s.Cluster, s.Socket(), "scrun", line...)}
	daemonstest.AwaitJob(s.T, s.Cluster, j.id, "runs", func(shown *scorev1.Job) bool {
		if j.scrun.Over() {
			s.T.Fatalf("job %d has ended:\n%s", j.id, j.scrun.Said())
		}
		return daemonstest.Running(shown)
	})
	return j
}

// stop cancels a job.
func (s *scene) stop(j *job) {
	s.T.Helper()
	s.Cancel(j.id)
	j.scrun.Ends(128 + 15)
}

// ranks are the processes of a job.
func (s *scene) ranks(j *job) (all []daemons.Process) {
	for _, node := range nodes {
		all = append(all, s.Ranks(j.id, node)...)
	}
	return all
}
