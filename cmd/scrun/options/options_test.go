package options

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"score/scored/api"
	"score/scored/api/scorev1"
	"score/tests/pinned"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/testing/protocmp"
)

// parse reads a command line; the options are nil when it was refused.
func parse(t *testing.T, arguments ...string) (*Options, error) {
	t.Helper()
	var got *Options
	command := Command(func(o *Options) error {
		got = o
		return nil
	})
	command.SetArgs(arguments)
	command.SetOut(new(bytes.Buffer))
	err := command.Execute()
	return got, err
}

// here is a process to make jobs from.
var here = Process{Environ: []string{"PATH=/bin", "A=1"}, Dir: "/home/u/100%", Umask: 0o22}

func TestSpec(t *testing.T) {
	// What a plain command line makes; the cases below change it.
	plain := func() *scorev1.JobSpec {
		return &scorev1.JobSpec{
			Name: "prog", Argv: []string{"prog"}, Env: here.Environ, WorkDir: here.Dir,
			Tasks: 1, Umask: 0o22, Stdin: scorev1.StdinMode_STDIN_MODE_RANK0,
		}
	}
	for arguments, change := range map[string]func(*scorev1.JobSpec){
		"prog":                               func(*scorev1.JobSpec) {},
		"-n 4 prog":                          func(s *scorev1.JobSpec) { s.Tasks = 4 },
		"-n4 prog":                           func(s *scorev1.JobSpec) { s.Tasks = 4 },
		"--ntasks=4 prog":                    func(s *scorev1.JobSpec) { s.Tasks = 4 },
		"-N 3 prog":                          func(s *scorev1.JobSpec) { s.Nodes, s.Tasks = 3, 3 },
		"-N2 -n8 prog":                       func(s *scorev1.JobSpec) { s.Nodes, s.Tasks = 2, 8 },
		"--ntasks-per-node 4 prog":           func(s *scorev1.JobSpec) { s.Nodes, s.Tasks = 1, 4 },
		"-N 3 --ntasks-per-node=4 prog":      func(s *scorev1.JobSpec) { s.Nodes, s.Tasks = 3, 12 },
		"-n 9 --ntasks-per-node=4 prog":      func(s *scorev1.JobSpec) { s.Nodes, s.Tasks = 3, 9 },
		"-N 3 -n 9 --ntasks-per-node=4 prog": func(s *scorev1.JobSpec) { s.Nodes, s.Tasks = 3, 9 },
		"-w n[1-2] --ntasks-per-node=4 prog": func(s *scorev1.JobSpec) { s.Nodes, s.Tasks, s.NodeList = 2, 8, []string{"n1", "n2"} },
		"-c 2 prog":                          func(s *scorev1.JobSpec) { s.CpusPerTask = 2 },
		"-t 1:30 prog":                       func(s *scorev1.JobSpec) { s.TimeLimitNanos = int64(90 * time.Second) },
		"-t 0 prog":                          func(*scorev1.JobSpec) {},
		"-t 5 --signal USR1@90 prog": func(s *scorev1.JobSpec) {
			s.TimeLimitNanos, s.WarnSignal, s.WarnNanos = int64(5*time.Minute), int32(unix.SIGUSR1), int64(90*time.Second)
		},
		"-J run prog":        func(s *scorev1.JobSpec) { s.Name = "run" },
		"-D /data prog":      func(s *scorev1.JobSpec) { s.WorkDir = "/data" },
		"-D sub/.. prog":     func(*scorev1.JobSpec) {},
		"--mem 2G prog":      func(s *scorev1.JobSpec) { s.MemoryPerNodeBytes = 2 << 30 },
		"--priority -5 prog": func(s *scorev1.JobSpec) { s.Priority = -5 },
		"--exclusive prog":   func(s *scorev1.JobSpec) { s.Exclusive = true },
		"-s prog":            func(s *scorev1.JobSpec) { s.Oversubscribe = true },
		"-s=false prog":      func(s *scorev1.JobSpec) { s.CpuEach = true },
		"--export A prog":    func(s *scorev1.JobSpec) { s.Env = []string{"A=1"} },
		"--export NONE prog": func(s *scorev1.JobSpec) { s.Env = []string{} },
		"-w n[1-2] prog":     func(s *scorev1.JobSpec) { s.NodeList = []string{"n1", "n2"} },
		"-x n3,n[7-9] prog":  func(s *scorev1.JobSpec) { s.ExcludeList = []string{"n3", "n7", "n8", "n9"} },
		"-H prog":            func(s *scorev1.JobSpec) { s.Hold = true },
		"--hold prog":        func(s *scorev1.JobSpec) { s.Hold = true },
		"--dependency afterok:7:8,after:9 prog": func(s *scorev1.JobSpec) {
			s.Dependencies = []*scorev1.Dependency{
				{Kind: scorev1.DependencyKind_DEPENDENCY_KIND_AFTER_OK, JobIds: []uint64{7, 8}},
				{Kind: scorev1.DependencyKind_DEPENDENCY_KIND_AFTER, JobIds: []uint64{9}},
			}
		},
		"-m cyclic prog":        func(s *scorev1.JobSpec) { s.Distribution = scorev1.Distribution_DISTRIBUTION_CYCLIC },
		"-m block prog":         func(s *scorev1.JobSpec) { s.Distribution = scorev1.Distribution_DISTRIBUTION_BLOCK },
		"-K prog":               func(s *scorev1.JobSpec) { s.KillOnBadExit = true },
		"-K=0 prog":             func(*scorev1.JobSpec) {},
		"-K0 prog":              func(*scorev1.JobSpec) {},
		"-sK1 prog":             func(s *scorev1.JobSpec) { s.KillOnBadExit, s.Oversubscribe = true, true },
		"-K0 -K1 prog":          func(s *scorev1.JobSpec) { s.KillOnBadExit = true },
		"--mpi=pmix prog":       func(s *scorev1.JobSpec) { s.Mpi = scorev1.MpiMode_MPI_MODE_PMIX },
		"--exchange=ring prog":  func(s *scorev1.JobSpec) { s.Exchange = scorev1.ExchangeMode_EXCHANGE_MODE_RING },
		"--exchange bruck prog": func(s *scorev1.JobSpec) { s.Exchange = scorev1.ExchangeMode_EXCHANGE_MODE_BRUCK },
		"--exchange tree prog":  func(s *scorev1.JobSpec) { s.Exchange = scorev1.ExchangeMode_EXCHANGE_MODE_TREE },
		"--exchange auto prog":  func(s *scorev1.JobSpec) {},
		"--mpi none prog":       func(s *scorev1.JobSpec) { s.Mpi = scorev1.MpiMode_MPI_MODE_NONE },
		"--mpi=pmi2 prog":       func(s *scorev1.JobSpec) { s.Mpi = scorev1.MpiMode_MPI_MODE_PMI },
		"-i none prog":          func(s *scorev1.JobSpec) { s.Stdin = scorev1.StdinMode_STDIN_MODE_NONE },
		"-i all prog":           func(s *scorev1.JobSpec) { s.Stdin = scorev1.StdinMode_STDIN_MODE_ALL },
		"-i in prog":            func(s *scorev1.JobSpec) { s.Stdin = scorev1.StdinMode_STDIN_MODE_ALL },
		"-i in.%t prog": func(s *scorev1.JobSpec) {
			s.Stdin, s.StdinPattern = scorev1.StdinMode_STDIN_MODE_NONE, "/home/u/100%%/in.%t"
		},
		"-l -u -o out.%t prog": func(*scorev1.JobSpec) {},
		"./dir/prog -n 9 --help": func(s *scorev1.JobSpec) {
			s.Name, s.Argv = "prog", []string{"./dir/prog", "-n", "9", "--help"}
		},
		"-- prog -l": func(s *scorev1.JobSpec) { s.Argv = []string{"prog", "-l"} },
		"-d prog":    detachedTo("/home/u/100%%/score-%j.out", ""),
		"-d -o o -e e -D /x prog": func(s *scorev1.JobSpec) {
			detachedTo("/x/o", "/x/e")(s)
			s.WorkDir = "/x"
		},
		"-d -o /a/%t prog":        detachedTo("/a/%t", ""),
		"-d -o none -e none prog": detachedTo("/dev/null", ""),
		"-d -e err prog":          detachedTo("/home/u/100%%/score-%j.out", "/home/u/100%%/err"),
		"-d -l -i in prog": func(s *scorev1.JobSpec) {
			detachedTo("/home/u/100%%/score-%j.out", "")(s)
			s.Label, s.StdinPattern = true, "/home/u/100%%/in"
		},
	} {
		o, err := parse(t, strings.Fields(arguments)...)
		if err != nil {
			t.Errorf("scrun %s: %v", arguments, err)
			continue
		}
		got, err := o.Spec(here)
		if err != nil {
			t.Errorf("scrun %s: %v", arguments, err)
			continue
		}
		want := plain()
		change(want)
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("scrun %s (-want +got):\n%s", arguments, diff)
		}
	}
}

func detachedTo(stdout, stderr string) func(*scorev1.JobSpec) {
	return func(s *scorev1.JobSpec) {
		s.Detached, s.Stdin = true, scorev1.StdinMode_STDIN_MODE_NONE
		s.StdoutPattern, s.StderrPattern = stdout, stderr
	}
}

func TestMistakes(t *testing.T) {
	for arguments, want := range map[string]string{
		"--dependency singleton prog":          `--dependency singleton: "singleton" is not after, afterany, afterok or afternotok with the numbers of jobs, as in afterok:7:8`,
		"":                                     "name the program to run: scrun [options] program [arguments]; 'scrun --help' explains",
		"-n 2":                                 "name the program to run: scrun [options] program [arguments]; 'scrun --help' explains",
		"-n 0 p":                               "--ntasks 0: it must be at least 1",
		"--fabric tcp p":                       "--fabric tcp: it is pm (channels), none (the network of the program's own library), or auto",
		"--fabric pm --channels 0 p":           "--fabric pm needs a channel for each rank, and --channels 0 gives none",
		"-c 0 p":                               "--cpus-per-task 0: it must be at least 1",
		"-N -2 p":                              "--nodes -2: it must be at least 1",
		"-N 2-4 p":                             "--nodes 2-4: give a whole number",
		"-n many p":                            "--ntasks many: give a whole number",
		"-n":                                   "the option --ntasks needs a value",
		"--nosuch p":                           "unknown option --nosuch; 'scrun --help' lists the options (options of the program come after its name)",
		"-lY p":                                "unknown option -Y; 'scrun --help' lists the options (options of the program come after its name)",
		"-t soon p":                            "--time soon: write it as minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes or days-hours:minutes:seconds",
		"-t -1 p":                              "--time -1: it must not be negative",
		"--mem 0 p":                            "--mem 0: it must be at least 1K",
		"--signal INT p":                       "--signal sends a signal before the time limit, and the job has none: give one with --time",
		"-t 1 --signal INT p":                  "--signal asks for a signal 1m0s before the time limit, which is 1m0s; give the seconds behind an @: --signal TERM@10",
		"-t 1 --signal 1@x p":                  "--signal 1@x: give the seconds before the end as a whole number, at most 65535: USR1@60",
		"--priority high p":                    "--priority high: give a whole number between -2147483648 and 2147483647",
		"-N 4 -n 2 p":                          "4 nodes need at least 4 ranks, -n asks for 2",
		"-N 2 -n 9 --ntasks-per-node 4 p":      "-n asks for 9 ranks; with --ntasks-per-node 4 there is room for 8 on 2 nodes",
		"--ntasks-per-node 5000 p":             "--ntasks-per-node 5000: at most 4096 ranks run on a node",
		"-N 16777216 --ntasks-per-node 4096 p": "16777216 nodes with --ntasks-per-node 4096: no cluster has room for 68719476736 ranks",
		"-N 1 -w n1,n2 --ntasks-per-node 4 p":  "-w names 2 nodes, -N asks for 1",
		"-N 1 -n 4097 p":                       "at most 4096 ranks run on a node: 4097 need 2 nodes or more, -N asks for 1",
		"-N 1 -w a,b p":                        "-w names 2 nodes, -N asks for 1",
		"-x PATH=/bin p":                       "--exclude PATH=/bin: it is a list of nodes; --export sets the variables of the ranks",
		"-x n[1 p":                             "--exclude n[1: write it as n1,n2 or n[1-4,7]",
		"-w n[1 p":                             "--nodelist n[1: write it as n1,n2 or n[1-4,7]",
		"-m plane=4 p":                         "--distribution plane=4: it is block or cyclic",
		"--exchange star p":                    "--exchange star: it is auto, tree, ring or bruck",
		"--mpi pmi3 p":                         "--mpi pmi3: it is pmix (Open MPI speaks it), pmi, pmi2 or pmi1 (MPICH and its relatives), or none",
		"-K=2 p":                               "--kill-on-bad-exit 2: give 0 or 1",
		"-K2 p":                                "unknown option -2; 'scrun --help' lists the options (options of the program come after its name)",
		"-0 p":                                 "unknown option -0; 'scrun --help' lists the options (options of the program come after its name)",
		"-o a\x1b[2J p":                        `--output "a\x1b[2J": the name contains control characters`,
		"-e a\x7fb p":                          `--error "a\x7fb": the name contains control characters`,
		"--export = p":                         "--export =: write it as ALL, NONE, or a comma-separated list of names and NAME=value",
		"--exclusive -s p":                     "--exclusive and --oversubscribe exclude each other",
		"-o a%q p":                             "--output a%q: invalid file name: %q is unknown; there are %t (rank), %N (node), %j (job), %x (job's name), %a (index of --array) and %%",
		"-e 4 -n 4 p":                          "--error 4: invalid file name: rank 4 is not one of 0 to 3; write ./4 for a file of that name",
		"-i 1 -n 4 p":                          "--input 1: input goes to rank 0, to all ranks, or to none",
		"-d -o all p":                          "a detached job has no terminal: give -i, -o and -e a file or none",
		"-d -i 0 p":                            "a detached job has no terminal: give -i, -o and -e a file or none",
		"--pty -d p":                           "--pty connects this terminal with rank 0, and --detach does not wait: use one of them",
		"--pty -o x p":                         "--pty uses the terminal for all streams of rank 0: leave out -i, -o, -e and -l",
		"--pty -l p":                           "--pty uses the terminal for all streams of rank 0: leave out -i, -o, -e and -l",
		"--pty --respawn 1 p":                  "--pty ends the terminal with rank 0: leave out --respawn",
		"-d -u p":                              "-u has no effect on a detached job: leave out -u or -d",
		"-n 99999999999999999 p":               "--ntasks 99999999999999999: the maximum is 16777216",
		"--exclusive=perhaps p":                "--exclusive perhaps: it is true or false",
		"-n 1 --oversubscribe=x p":             "--oversubscribe x: it is true or false",
	} {
		o, err := parse(t, strings.Fields(arguments)...)
		if o != nil || err == nil || err.Error() != want {
			t.Errorf("scrun %s:\n got %v\nwant %s", arguments, err, want)
		}
	}
}

func TestLostDirectory(t *testing.T) {
	o, err := parse(t, "p")
	if err != nil {
		t.Fatal(err)
	}
	const want = "the current directory does not exist any more: give one with -D"
	if _, err := o.Spec(Process{}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	o.Dir = "/tmp"
	if spec, err := o.Spec(Process{}); err != nil || spec.GetWorkDir() != "/tmp" {
		t.Errorf("with -D: %v, %v", spec.GetWorkDir(), err)
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	command := Command(func(*Options) error { return errors.New("help ran the program") })
	command.SetOut(&out)
	command.SetArgs([]string{"--help"})
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > helpWidth+1 {
			t.Errorf("a line of %d characters: %s", len(line)-1, line)
		}
	}
	pinned.File(t, "testdata/help.txt", out.String())
}

// The ranks get the limit on open files that the user's shell has, not the one
// that Go raises for itself.
func TestFileLimit(t *testing.T) {
	if os.Getenv("SCORE_TEST_PRINT_LIMIT") != "" {
		t.Skip("this is the child")
	}
	var limit unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Max < 100 {
		t.Skip("the limit on open files is too low to tell anything")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("sh", "-c", `ulimit -S -n 77; exec "$0" -test.run '^TestPrintFileLimit$' -test.v`, self)
	command.Env = append(os.Environ(), "SCORE_TEST_PRINT_LIMIT=1")
	out, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "soft limit 77\n") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestPrintFileLimit is TestFileLimit's child.
func TestPrintFileLimit(t *testing.T) {
	if os.Getenv("SCORE_TEST_PRINT_LIMIT") == "" {
		return // it has a part only in its parent's process
	}
	for _, limit := range Here().Limits {
		if limit.GetResource() == unix.RLIMIT_NOFILE {
			t.Logf("soft limit %d\n", limit.GetSoft())
		}
	}
}

func TestHere(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	t.Chdir(t.TempDir())
	process := Here()
	if process.Umask != 0o027 {
		t.Errorf("umask %03o, want 027", process.Umask)
	}
	if after := syscall.Umask(0o027); after != 0o027 {
		t.Errorf("the umask was left at %03o", after)
	}
	if len(process.Limits) != api.ResourceLimits {
		t.Errorf("%d limits, want %d", len(process.Limits), api.ResourceLimits)
	}
	if wd, _ := os.Getwd(); process.Dir != wd {
		t.Errorf("directory %s, want %s", process.Dir, wd)
	}
}
