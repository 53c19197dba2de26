package steward_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/scorev1"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCannotStart(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(dir, "foreign")
	if err := os.WriteFile(foreign, foreignELF(t), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		argv   []string
		change change
		code   int32
		says   string
	}{
		{"no such program in PATH", []string{"no-such-program"}, nil, 127, "no-such-program"},
		{"no such file", []string{dir + "/none"}, nil, 127, dir + "/none"},
		{"not executable", []string{plain}, nil, 126, plain},
		{"wrong architecture", []string{foreign}, nil, 126, foreign},
		{"a directory", []string{dir}, nil, 126, dir},
		{
			"no such working directory",
			[]string{"true"},
			withSpec(func(s *scorev1.JobSpec) { s.WorkDir = dir + "/gone" }), 126, dir + "/gone",
		},
		{
			"no such input file",
			[]string{"true"},
			withSpec(func(s *scorev1.JobSpec) { s.StdinPattern = dir + "/no-input" }), 125, dir + "/no-input",
		},
		{"no way to the output file", []string{"true"}, withSpec(func(s *scorev1.JobSpec) {
			s.Detached, s.StdoutPattern = true, dir+"/gone/out"
		}), 125, dir + "/gone/out"},
		{"malformed pattern", []string{"true"}, withSpec(func(s *scorev1.JobSpec) {
			s.Detached, s.StdoutPattern = true, dir+"/%q"
		}), 125, "%q"},
		{"no program at all", nil, nil, 125, "no program"},
		{
			"a control group that the slot has not",
			[]string{"true"},
			func(p *stewardpb.PrepareJob) { p.Cgroup = "/sys/fs/cgroup/elsewhere" }, 125, "elsewhere",
		},
		{
			"a CPU that the node has not",
			[]string{"true"},
			func(p *stewardpb.PrepareJob) { p.Job.Places[0].Cpus = []uint32{9} }, 125, "CPU 9",
		},
		{
			"a rank twice",
			[]string{"true"},
			func(p *stewardpb.PrepareJob) { p.Job.Places[0].Ranks = []uint32{0, 0} }, 125, "twice",
		},
		{
			"a rank beyond the last",
			[]string{"true"},
			func(p *stewardpb.PrepareJob) { p.Job.Places[0].Ranks = []uint32{0, 5} }, 125, "rank 5",
		},
		{
			"a node that is none of the job's",
			[]string{"true"},
			func(p *stewardpb.PrepareJob) { p.Job.NodeIndex = 3 }, 125, "no node",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := start(t)
			var changes []change
			if tt.change != nil {
				changes = append(changes, tt.change)
			}
			a.do(a.conn.Prepare(a.order(2, tt.argv, changes...)))
			p := a.prepared()
			if p.GetExitCode() != tt.code || !strings.Contains(p.GetError(), tt.says) {
				t.Errorf("got %d %q, want %d with %q", p.GetExitCode(), p.GetError(), tt.code, tt.says)
			}
			if tt.argv != nil && !strings.Contains(p.GetError(), "node "+testNode) || strings.Contains(p.GetError(), "\n") {
				t.Errorf("%q is not one sentence that names the node", p.GetError())
			}
			a.do(a.conn.Launch()) // must do nothing
			a.do(a.conn.Forget())
			a.left()
		})
	}
}

// The user is told of a file that is not open after a while, and what opens a FIFO's other end
// later lets the job go on.
func TestSlowOpening(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	a := start(t)
	a.do(a.conn.Prepare(a.order(1, []string{"true"}, withSpec(func(s *scorev1.JobSpec) {
		s.Detached, s.StdoutPattern = true, path
	}))))
	if text := a.jobNote().GetText(); !strings.Contains(text, path) || !strings.Contains(text, "FIFO") {
		t.Errorf("%q does not name the file", text)
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if p := a.prepared(); p.GetExitCode() != 0 {
		t.Errorf("not prepared: %v", p)
	}
	a.do(a.conn.Kill())
	a.done()
}

// foreignELF is this test's own program, said to be for another machine.
func foreignELF(t *testing.T) []byte {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	head := make([]byte, 4096)
	if _, err := f.Read(head); err != nil {
		t.Fatal(err)
	}
	const machine = 18  // e_machine, of both classes
	head[machine] = 183 // AArch64
	if runtime.GOARCH == "arm64" {
		head[machine] = 62 // x86-64
	}
	return head
}

func TestASecondJobIsRefused(t *testing.T) {
	a := start(t)
	a.ready(a.order(1, []string{"/bin/true"}))
	second := a.order(1, []string{"/bin/true"})
	second.Job.JobId = testJob + 1
	a.do(a.conn.Prepare(second))
	p := await(a, "Prepared", 1, (*stewardpb.FromSteward).GetPrepared)
	if p.GetJobId() != testJob+1 || p.GetExitCode() != 125 {
		t.Errorf("second job: %v", p)
	}
	a.do(a.conn.Prepare(a.order(1, []string{"/bin/true"}))) // by a new agent
	if p := await(a, "Prepared", 2, (*stewardpb.FromSteward).GetPrepared); p.GetJobId() != testJob || p.GetExitCode() != 0 {
		t.Errorf("the same job again: %v", p)
	}
	a.do(a.conn.Launch())
	a.done()
}

func TestEnvironment(t *testing.T) {
	a := start(t)
	a.run(2, sh("env; echo cwd=$(pwd); umask"), withSpec(func(s *scorev1.JobSpec) {
		s.Env = append(s.Env, "MINE=yes", "SCORE_CONFIG=kept", "SCORE_RANK=9", "PMI_RANK=9", "PMIX_RANK=9", "OMPI_COMM_WORLD_RANK=9", "broken",
			"PMIX_MCA_gds=ds21", "PMIX_MCA_pcompress=^zlib")
		s.WorkDir = "/tmp"
		s.Umask = 0o27
	}), func(p *stewardpb.PrepareJob) {
		p.Job.Places = append(p.Job.Places, &scorev1.NodePlace{Node: "n2", Ranks: []uint32{2}})
		p.Job.Spec.Tasks = 3
	})
	lines := strings.Split(readAll(t, a.stdio())[stream{1, 1}], "\n")
	has := make(map[string]int)
	for _, line := range lines {
		has[line]++
	}
	for _, want := range []string{
		"MINE=yes", "SCORE_CONFIG=kept", "SCORE_JOB_ID=7", "SCORE_RANK=1", "SCORE_SIZE=3", "SCORE_NODE=n1",
		"SCORE_NODE_INDEX=0", "SCORE_NODES=2", "SCORE_LOCAL_RANK=1", "SCORE_LOCAL_SIZE=2", "SCORE_CPU_RANKS=2",
		"PMI_RANK=1", "PMI_SIZE=3", "PMI_FD=3", "MPI_LOCALNRANKS=2", "MPI_LOCALRANKID=1", "PMIX_RANK=1", "PMIX_HOSTNAME=n1",
		"PMIX_MCA_gds=hash", "PMIX_MCA_pcompress=^zlib", "OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=3",
		"OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=2", "OMPI_COMM_WORLD_NODE_RANK=1",
		"OMPI_MCA_schizo=^orte", "OMPI_MCA_mpi_yield_when_idle=1", "cwd=/tmp", "0027",
	} {
		if has[want] != 1 {
			t.Errorf("%q is there %d times in\n%s", want, has[want], strings.Join(lines, "\n"))
		}
	}
	for _, line := range lines {
		if strings.HasSuffix(line, "_RANK=9") || line == "PMIX_MCA_gds=ds21" {
			t.Errorf("%q is there", line)
		}
	}
}

// Nodes of one machine have the same CPUs: a rank is told that it shares its CPU, though no rank of
// its own node does. Ranks of other machines do not count.
func TestRanksOfNodesThatShareCPUsAreCounted(t *testing.T) {
	cpus, err := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	if err != nil || len(cpus) == 0 {
		t.Skip("the number of CPUs cannot be read:", err)
	}
	const here, there = "192.0.2.1", "192.0.2.2"
	for _, c := range []struct {
		shares bool
		others string
		want   string
	}{{true, here, "2"}, {false, here, "1"}, {true, there, "1"}} {
		a := start(t)
		a.run(1, sh("echo $SCORE_CPU_RANKS"), func(p *stewardpb.PrepareJob) {
			p.SharesCpus = c.shares
			p.Job.Places[0].Address = here + ":7000"
			for i := range cpus {
				p.Job.Places = append(p.Job.Places, &scorev1.NodePlace{
					Node: "n" + strconv.Itoa(i+2), Ranks: []uint32{uint32(i) + 1}, Address: c.others + ":" + strconv.Itoa(7001+i),
				})
			}
			p.Job.Spec.Tasks = uint32(len(cpus)) + 1
		})
		if out := readAll(t, a.stdio())[stream{0, 1}]; out != c.want+"\n" {
			t.Errorf("%+v: SCORE_CPU_RANKS is %q", c, out)
		}
	}
}

func TestWithoutPMI(t *testing.T) {
	a := start(t)
	a.run(1, sh("env; ls -l /proc/self/fd"), withSpec(func(s *scorev1.JobSpec) { s.Mpi = scorev1.MpiMode_MPI_MODE_NONE }))
	if out := readAll(t, a.stdio())[stream{0, 1}]; strings.Contains(out, "PMI") || strings.Contains(out, "socket") {
		t.Errorf("there is PMI in\n%s", out)
	}
}

func TestRanksInheritNothingElse(t *testing.T) {
	a := start(t)
	a.run(3, sh("ls /proc/self/fd | tr '\\n' ' '"))
	for key, out := range readAll(t, a.stdio()) {
		// 3 is PMI; ls has opened the directory itself as the next.
		if key.number == 1 && out != "0 1 2 3 4 " {
			t.Errorf("rank %d has descriptors %s", key.rank, out)
		}
	}
}

func TestAffinityAndLimits(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("one CPU only")
	}
	a := start(t)
	a.run(3, sh("grep Cpus_allowed_list /proc/self/status; ulimit -n; ulimit -s"),
		withSpec(func(s *scorev1.JobSpec) {
			s.Limits = []*scorev1.ResourceLimit{
				{Resource: 7, Soft: 77, Hard: 88},           // open files
				{Resource: 3, Soft: 4 << 20, Hard: 8 << 20}, // stack
			}
		}),
		func(p *stewardpb.PrepareJob) {
			p.CpuIds = []uint32{0, 1}
			p.Job.Places[0].Cpus = []uint32{1, 0}
		})
	out := readAll(t, a.stdio())
	for rank, cpu := range []string{"1", "0", "1"} {
		want := "Cpus_allowed_list:\t" + cpu + "\n77\n4096\n"
		if got := out[stream{uint32(rank), 1}]; got != want {
			t.Errorf("rank %d: %q, want %q", rank, got, want)
		}
	}
}

// A limit that nobody may give is lowered; the user is told, and the job runs.
func TestLimitTooHigh(t *testing.T) {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil {
		t.Fatal(err)
	}
	a := start(t)
	a.run(1, sh("ulimit -Hn"), withSpec(func(s *scorev1.JobSpec) {
		s.Limits = []*scorev1.ResourceLimit{{Resource: unix.RLIMIT_NOFILE, Soft: 77, Hard: unix.RLIM_INFINITY}} // above fs.nr_open
	}))
	if out, want := readAll(t, a.stdio())[stream{0, 1}], fmt.Sprintln(own.Max); out != want {
		t.Errorf("the hard limit is %q, want %q", out, want)
	}
	if warning := a.prepared().GetWarning(); !strings.Contains(warning, "nofile 77/unlimited") {
		t.Errorf("the warning is %q", warning)
	}
}

func TestAsTheSubmitter(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start ranks of another user")
	}
	a := start(t)
	a.run(1, sh("id -u; id -g; id -G"), withSpec(func(s *scorev1.JobSpec) { s.WorkDir = "/" }),
		func(p *stewardpb.PrepareJob) {
			p.Job.User = &scorev1.Identity{Uid: 65534, Gid: 65533, Groups: []uint32{65533, 65532}}
		})
	if out := readAll(t, a.stdio())[stream{0, 1}]; out != "65534\n65533\n65533 65532\n" {
		t.Errorf("runs as %q", out)
	}
}
