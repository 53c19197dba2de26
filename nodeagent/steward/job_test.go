package steward

import (
	"errors"
	"score/nodeagent/mpidirs"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// order is a job of two nodes, ranks 0 and 2 here, 1 there.
func order() *stewardpb.PrepareJob {
	return &stewardpb.PrepareJob{
		Node:   "n1",
		CpuIds: []uint32{10, 11, 12, 13},
		Files:  mpidirs.Name(mpidirs.Prefix("lab", "n1", "/run"), 7),
		Job: &agentpb.Prepare{
			JobId: 7,
			User:  &scorev1.Identity{},
			Spec:  &scorev1.JobSpec{Argv: []string{"a.out"}, Tasks: 3},
			Places: []*scorev1.NodePlace{
				{Node: "n1", Ranks: []uint32{0, 2}, Cpus: []uint32{1, 3}},
				{Node: "n2", Ranks: []uint32{1}},
			},
		},
	}
}

func TestCPUs(t *testing.T) {
	for _, tt := range []struct {
		name  string
		given []uint32
		each  uint32
		want  [][]int // per local rank
	}{
		{"one each", []uint32{1, 3}, 1, [][]int{{11}, {13}}},
		{"none said is one", []uint32{1, 3}, 0, [][]int{{11}, {13}}},
		{"two each", []uint32{0, 1, 2, 3}, 2, [][]int{{10, 11}, {12, 13}}},
		{"shared", []uint32{2}, 1, [][]int{{12}, {12}}},
		{"around", []uint32{0, 1, 2}, 2, [][]int{{10, 11}, {12, 10}}},
		{"more than there are", []uint32{0, 1}, 9, [][]int{{10, 11}, {10, 11}}},
		{"no pinning", nil, 1, [][]int{nil, nil}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := order()
			o.Job.Places[0].Cpus, o.Job.Spec.CpusPerTask = tt.given, tt.each
			j := newJob(o)
			for k, want := range tt.want {
				if got := j.cpus(k); !slices.Equal(got, want) {
					t.Errorf("local rank %d gets %v, want %v", k, got, want)
				}
			}
		})
	}
}

func TestOrdersThatContradictThemselves(t *testing.T) {
	if err := newJob(order()).check(); err != nil {
		t.Fatalf("a good order: %v", err)
	}
	for name, spoil := range map[string]func(*stewardpb.PrepareJob){
		"nothing in it":        func(o *stewardpb.PrepareJob) { *o = stewardpb.PrepareJob{} },
		"no directories":       func(o *stewardpb.PrepareJob) { o.Files = "" },
		"a hostile directory":  func(o *stewardpb.PrepareJob) { o.Files = "../" + o.Files },
		"no user":              func(o *stewardpb.PrepareJob) { o.Job.User = nil },
		"no program":           func(o *stewardpb.PrepareJob) { o.Job.Spec.Argv = nil },
		"no specification":     func(o *stewardpb.PrepareJob) { o.Job.Spec = nil },
		"not one of its nodes": func(o *stewardpb.PrepareJob) { o.Job.NodeIndex = 2 },
		"no ranks here":        func(o *stewardpb.PrepareJob) { o.Job.Places[0].Ranks = nil },
		"too many ranks here":  func(o *stewardpb.PrepareJob) { o.Job.Places[0].Ranks = make([]uint32, api.MaxRanksPerNode+1) },
		"a rank twice":         func(o *stewardpb.PrepareJob) { o.Job.Places[0].Ranks = []uint32{1, 1} },
		"no such CPU":          func(o *stewardpb.PrepareJob) { o.Job.Places[0].Cpus = []uint32{4} },
	} {
		t.Run(name, func(t *testing.T) {
			o := order()
			spoil(o)
			if err := newJob(o).check(); !errors.Is(err, errOrder) {
				t.Errorf("got %v, want %v", err, errOrder)
			}
		})
	}
}

func TestRankNode(t *testing.T) {
	nodes, err := newJob(order()).rankNode()
	if want := []int32{0, 1, 0}; err != nil || !slices.Equal(nodes, want) {
		t.Errorf("got %v, %v, want %v", nodes, err, want)
	}
	for name, ranks := range map[string][]uint32{"twice": {2}, "a gap": {5}} {
		o := order()
		o.Job.Places[1].Ranks = ranks
		if _, err := newJob(o).rankNode(); !errors.Is(err, errOrder) {
			t.Errorf("%s: %v, want %v", name, err, errOrder)
		}
	}
}

func TestVariable(t *testing.T) {
	o := order()
	o.Job.Spec.Env = []string{"PATHS=/x", "PATH", "PATH=/a:/b", "PATH=/c", "EMPTY="}
	j := newJob(o)
	for name, want := range map[string]string{"PATH": "/a:/b", "EMPTY": "", "NONE": ""} {
		if got := j.variable(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestWhoGetsInput(t *testing.T) {
	for _, tt := range []struct {
		mode     scorev1.StdinMode
		detached bool
		want     [2]bool // ranks 0 and 2
	}{
		{scorev1.StdinMode_STDIN_MODE_UNSPECIFIED, false, [2]bool{true, false}},
		{scorev1.StdinMode_STDIN_MODE_RANK0, false, [2]bool{true, false}},
		{scorev1.StdinMode_STDIN_MODE_ALL, false, [2]bool{true, true}},
		{scorev1.StdinMode_STDIN_MODE_NONE, false, [2]bool{}},
		{scorev1.StdinMode_STDIN_MODE_ALL, true, [2]bool{}},
	} {
		o := order()
		o.Job.Spec.Stdin, o.Job.Spec.Detached = tt.mode, tt.detached
		j := newJob(o)
		for i, rank := range []uint32{0, 2} {
			if got := j.getsInput(rank); got != tt.want[i] {
				t.Errorf("%v, detached %v: rank %d gets input: %v", tt.mode, tt.detached, rank, got)
			}
		}
	}
}

func TestTooManyRanksForTheOpenFiles(t *testing.T) {
	o := order()
	o.Job.Places[0].Ranks = make([]uint32, api.MaxRanksPerNode)
	o.Job.Spec.Stdin = scorev1.StdinMode_STDIN_MODE_ALL
	withOpenFiles(t, 1000)
	err := newJob(o).checkOpenFiles()
	if !errors.Is(err, errFiles) || !strings.Contains(err.Error(), "the limit is 1000") {
		t.Errorf("got %v", err)
	}
	if err := newJob(order()).checkOpenFiles(); err != nil {
		t.Errorf("two ranks: %v", err)
	}
	o.Job.Places[0].Ranks = make([]uint32, 1)
	withOpenFiles(t, 100)
	if err := newJob(o).checkOpenFiles(); err == nil || !strings.Contains(err.Error(), ": 1 rank on a node takes ") {
		t.Errorf("one rank: %v", err)
	}
}

func TestPatternsStartInTheWorkingDirectory(t *testing.T) {
	o := order()
	o.Job.Spec.WorkDir = "/home/ann"
	j := newJob(o)
	for pattern, want := range map[string]string{
		"out.%t": "/home/ann/out.2", "/tmp/%j-%N": "/tmp/7-n1", "a/../b": "/home/ann/b",
	} {
		if got, err := j.expand(pattern, 2); err != nil || got != want {
			t.Errorf("%s becomes %s (%v), want %s", pattern, got, err, want)
		}
	}
}

// withOpenFiles sets the limit for one test.
func withOpenFiles(t *testing.T, n uint64) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	now := before
	now.Cur = n
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	})
}
