package rpc

import (
	"errors"
	"score/gang"
	"score/scored/api"
	"score/scored/api/scorev1"
	"score/scored/api/texts"
	"score/scored/leader"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
)

func goodSpec() *scorev1.JobSpec {
	return &scorev1.JobSpec{
		Name: "a.out", Argv: []string{"./a.out", "x"}, Env: []string{"HOME=/", "EMPTY="}, WorkDir: "/home/ada", Tasks: 4,
		StdoutPattern: "out-%j-%t-%N-%%", NodeList: []string{"n1"},
	}
}

func TestGoodSpec(t *testing.T) {
	for _, change := range []func(*scorev1.JobSpec){
		func(*scorev1.JobSpec) {}, terminal(func(*scorev1.JobSpec) {}),
		func(s *scorev1.JobSpec) { s.ExcludeList = []string{"n2"} },
	} {
		spec := goodSpec()
		change(spec)
		if err := checkSpec(spec); err != nil {
			t.Error(err)
		}
	}
}

// terminal modifies a job whose rank 0 has a terminal.
func terminal(change func(*scorev1.JobSpec)) func(*scorev1.JobSpec) {
	return func(s *scorev1.JobSpec) {
		s.Stdin, s.Terminal = scorev1.StdinMode_STDIN_MODE_RANK0, &scorev1.Terminal{Rows: 24, Columns: 80}
		change(s)
	}
}

func TestBadSpecs(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	tests := []struct {
		name   string
		change func(*scorev1.JobSpec)
		want   string
	}{
		{"no tasks", func(s *scorev1.JobSpec) { s.Tasks = 0 }, "the job has no tasks; ask for at least one with -n"},
		{"too many tasks", func(s *scorev1.JobSpec) { s.Tasks = gang.MaxTasks + 1 }, "4194305 tasks are more than the most there can be, 4194304"},
		{"more nodes than tasks", func(s *scorev1.JobSpec) { s.Nodes = 5 }, "4 tasks cannot be spread over 5 nodes; ask for fewer nodes or more tasks"},
		{"CPUs per task", func(s *scorev1.JobSpec) { s.CpusPerTask = 1 << 20 }, "1048576 CPUs per task are more than any node has"},
		{"memory", func(s *scorev1.JobSpec) { s.MemoryPerNodeBytes = 1 << 63 }, "8388608T of memory per node are more than the most there can be, 1048576T"},
		{"channels", func(s *scorev1.JobSpec) { s.ChannelsPerTask = 16 }, "16 channels per task are more than a rank can open, 15"},
		{"priority", func(s *scorev1.JobSpec) { s.Priority = -2_000_000 }, "the priority -2000000 is not between -1000000 and 1000000"},
		{"negative time", func(s *scorev1.JobSpec) { s.TimeLimitNanos = -1 }, "the time limit -1ns is negative"},
		{"long time", func(s *scorev1.JobSpec) { s.TimeLimitNanos = 1 << 62 }, "the time limit 1281023h53m38.427387904s is longer than 87600h0m0s"},
		{"unknown signal", func(s *scorev1.JobSpec) { s.WarnSignal = 65 }, "there is no signal 65"},
		{"negative signal", func(s *scorev1.JobSpec) { s.WarnSignal = -1 }, "there is no signal -1"},
		{"time without signal", func(s *scorev1.JobSpec) { s.WarnNanos = 1 }, "a time before the time limit needs a signal"},
		{"negative warning", func(s *scorev1.JobSpec) { s.WarnSignal, s.WarnNanos, s.TimeLimitNanos = 1, -1, 5 }, "the signal -1ns before the end"},
		{
			"long warning",
			func(s *scorev1.JobSpec) { s.WarnSignal, s.WarnNanos, s.TimeLimitNanos = 1, 5, 5 },
			"the signal 5ns before the end needs a longer time limit than 5ns",
		},
		{"umask", func(s *scorev1.JobSpec) { s.Umask = 0o1000 }, "the umask 01000 is more than 0777"},
		{"limits", func(s *scorev1.JobSpec) { s.Limits = make([]*scorev1.ResourceLimit, 17) }, "17 resource limits are more than the 16 there are"},
		{
			"large terminal",
			terminal(func(s *scorev1.JobSpec) { s.Terminal.Columns = 1 << 16 }),
			"a terminal of 24 rows and 65536 columns is larger than there can be",
		},
		{"terminal, detached", terminal(func(s *scorev1.JobSpec) { s.Detached = true }), "a rank with a terminal has its input from there"},
		{
			"terminal, input for all",
			terminal(func(s *scorev1.JobSpec) { s.Stdin = scorev1.StdinMode_STDIN_MODE_ALL }),
			"a rank with a terminal has its input from there",
		},
		{"terminal, respawn", terminal(func(s *scorev1.JobSpec) { s.Respawn = 1 }), "a terminal ends with the rank that has it"},
		{"no program", func(s *scorev1.JobSpec) { s.Argv = nil }, "the job names no program"},
		{"programs", func(s *scorev1.JobSpec) { s.Commands = []*scorev1.Command{{Tasks: 1}} }, "a submission has one program"},
		{"search path", func(s *scorev1.JobSpec) { s.SearchPath = "/opt" }, "a submission finds its program by PATH"},
		{"empty program", func(s *scorev1.JobSpec) { s.Argv = []string{""} }, "the job names no program"},
		{"NUL", func(s *scorev1.JobSpec) { s.Argv[1] = "a\x00b" }, `an argument or environment variable holds a NUL: "a\x00b"`},
		{
			"long argument",
			func(s *scorev1.JobSpec) { s.Argv[1] = long(1 << 17) },
			"an argument or environment variable is longer than the 131071 bytes the kernel takes; pass it in a file: ",
		},
		{
			"many arguments",
			func(s *scorev1.JobSpec) { s.Argv = strings.Split(long(70000), "") },
			"70002 arguments and environment variables are more than the 65536 a job takes; pass a long list in a file or by standard input",
		},
		{"large environment", func(s *scorev1.JobSpec) {
			for range 20 {
				s.Env = append(s.Env, "A="+long(120000))
			}
		}, "arguments and environment take"},
		{"no NAME=VALUE", func(s *scorev1.JobSpec) { s.Env = []string{"HOME"} }, `the environment variable "HOME" is not NAME=VALUE`},
		{"no NAME", func(s *scorev1.JobSpec) { s.Env = []string{"=x"} }, `the environment variable "=x" is not NAME=VALUE`},
		{"control character", func(s *scorev1.JobSpec) { s.Name = "a\x1b[31m" }, `the job's name holds control characters: "a\x1b[31m"`},
		{"no UTF-8", func(s *scorev1.JobSpec) { s.Name = "\xff" }, `the job's name is not UTF-8: "\xff"`},
		{"long name", func(s *scorev1.JobSpec) { s.Name = long(300) }, "the job's name is longer than 255 bytes"},
		{"relative directory", func(s *scorev1.JobSpec) { s.WorkDir = "home" }, `the working directory "home" is not an absolute path`},
		{"no directory", func(s *scorev1.JobSpec) { s.WorkDir = "" }, `the working directory "" is not an absolute path`},
		{"long directory", func(s *scorev1.JobSpec) { s.WorkDir = "/" + long(5000) }, "the working directory is longer than 4095 bytes"},
		{"many nodes", func(s *scorev1.JobSpec) { s.NodeList = make([]string, 5000) }, "the list names 5000 nodes, more than 4096"},
		{"many excluded nodes", func(s *scorev1.JobSpec) { s.ExcludeList = make([]string, 5000) }, "the list names 5000 nodes, more than 4096"},
		{"dependency on job 0", dependsOn(4, 0), "--dependency names job 0, and jobs are numbered from 1"},
		{"the same job twice", dependsOn(3, 7, 8, 7), "--dependency names job 7 twice; it can satisfy one dependency only"},
		{"many dependencies", dependsOn(2, manyJobs...), "--dependency names more than 256 jobs; let a job in between wait for some of them"},
		{"no kind", dependsOn(0, 7), "a dependency of kind 0 on 1 jobs is unknown"},
		{"odd kind", dependsOn(99, 7), "a dependency of kind 99 on 1 jobs is unknown"},
		{"dependency on nothing", dependsOn(1), "a dependency of kind 1 on 0 jobs is unknown"},
		{"odd excluded node", func(s *scorev1.JobSpec) { s.ExcludeList = []string{"a\nb"} }, "a node's name holds control characters"},
		{"empty node", func(s *scorev1.JobSpec) { s.NodeList = []string{""} }, "the list of nodes holds an empty name"},
		{"odd node", func(s *scorev1.JobSpec) { s.NodeList = []string{"a\nb"} }, "a node's name holds control characters"},
		{
			"odd pattern",
			func(s *scorev1.JobSpec) { s.StderrPattern = "e-%q" },
			`the file name for standard error, "e-%q": invalid file name: %q is unknown; there are %t (rank), %N (node), %j (job), %x (job's name), %a (index of --array) and %%`,
		},
		{"pattern ends in %", func(s *scorev1.JobSpec) { s.StdinPattern = "50%" }, `the file name for standard input, "50%"`},
		{
			"detached without file",
			func(s *scorev1.JobSpec) { s.Detached, s.StdoutPattern = true, "" },
			"a detached job needs a file for its output; name one with -o",
		},
		{"stdin mode", func(s *scorev1.JobSpec) { s.Stdin = 17 }, "stdin mode 17 is unknown"},
		{"MPI mode", func(s *scorev1.JobSpec) { s.Mpi = -1 }, "MPI mode -1 is unknown"},
		{"distribution", func(s *scorev1.JobSpec) { s.Distribution = 9 }, "distribution 9 is unknown"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := goodSpec()
			test.change(spec)
			err := checkSpec(spec)
			if !errors.Is(err, leader.ErrInvalid) {
				t.Fatalf("error %v", err)
			}
			text := sentence(err, leader.ErrInvalid).Error()
			if !strings.HasPrefix(text, test.want) {
				t.Errorf("%q\nwant %q", text, test.want)
			}
			if len(text) > 300 {
				t.Errorf("a sentence of %d bytes", len(text))
			}
		})
	}
	if err := checkSpec(nil); !errors.Is(err, leader.ErrInvalid) {
		t.Errorf("no job: %v", err)
	}
}

// Texts of programs and paths are bytes without NUL.
func TestTextsOfProgramsAreBytes(t *testing.T) {
	for _, text := range []string{"g\xfcnstig", "\xff\xfe", "a\nb", "\x1b[31m", "\x80"} {
		spec := goodSpec()
		spec.Argv, spec.Env, spec.WorkDir = []string{text, text}, []string{text + "=" + text}, "/"+text
		spec.StdoutPattern, spec.StderrPattern, spec.StdinPattern = text+"%t", text, text
		spec.Staged = []*scorev1.StagedFile{{Name: text, Sha256: make([]byte, sumBytes), Kind: scorev1.StagedKind_STAGED_KIND_FILE}}
		if err := checkSpec(spec); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, change := range []func(*scorev1.JobSpec){
		func(s *scorev1.JobSpec) { s.WorkDir = "/a\x00b" }, func(s *scorev1.JobSpec) { s.StdinPattern = "a\x00b" },
		func(s *scorev1.JobSpec) { s.Env = []string{"A=\x00"} },
	} {
		spec := goodSpec()
		change(spec)
		if err := checkSpec(spec); !errors.Is(err, leader.ErrInvalid) || !strings.Contains(err.Error(), `holds a NUL: "`) {
			t.Errorf("%v: %v", spec, err)
		}
	}
}

// Any message from a client is either refused or can be forwarded.
func FuzzCheckSpec(f *testing.F) {
	f.Add("a", "A=b", "/", "x-%t", uint32(1), uint32(1), int64(0))
	f.Add("", "=", "rel", "%", uint32(0), uint32(9), int64(-1))
	f.Add("\xff", "A\xfe=\x80", "/\xfd", "\xfc-%t", uint32(1), uint32(1), int64(0))
	f.Fuzz(func(t *testing.T, argument, variable, dir, pattern string, tasks, nodes uint32, limit int64) {
		spec := &scorev1.JobSpec{
			Name: api.JobName(argument), Argv: []string{argument}, Env: []string{variable}, WorkDir: dir, StdoutPattern: pattern,
			Tasks: tasks, Nodes: nodes, TimeLimitNanos: limit,
		}
		if texts.Valid(argument) {
			spec.Name, spec.NodeList = argument, []string{argument}
		}
		if checkSpec(spec) != nil {
			return
		}
		if tasks == 0 || nodes > tasks || limit < 0 || argument == "" || strings.ContainsRune(variable, 0) {
			t.Errorf("%v was accepted", spec)
		}
		data, err := proto.Marshal(spec)
		if err != nil {
			t.Fatalf("%v was accepted, and cannot be written: %v", spec, err)
		}
		if got := new(scorev1.JobSpec); proto.Unmarshal(data, got) != nil || !proto.Equal(got, spec) {
			t.Errorf("%v becomes %v", spec, got)
		}
	})
}

func dependsOn(kind scorev1.DependencyKind, on ...uint64) func(*scorev1.JobSpec) {
	return func(s *scorev1.JobSpec) { s.Dependencies = []*scorev1.Dependency{{Kind: kind, JobIds: on}} }
}

// manyJobs are one more than a job may wait for.
var manyJobs = func() []uint64 {
	ids := make([]uint64, api.MaxDependencies+1)
	for i := range ids {
		ids[i] = uint64(i + 1)
	}
	return ids
}()
