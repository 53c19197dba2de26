// Package system drives the real programs the way a user does: the scripts in
// testdata start daemons on loopback, compile and run real MPI programs, and
// look at what is left behind. Each script is a story one can read.
package system

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"score/tests/signals"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptTimeout bounds one script, so that a hanging program shows itself.
const scriptTimeout = 120 * time.Second

// untilTimeout bounds one wait for a state.
const untilTimeout = 60 * time.Second

// longPrograms has the scripts programs and fabric-programs run more programs, at the sizes that
// they were made for.
var longPrograms = flag.Bool("programs.long", false, "run the programs of Debian's archive at their usual sizes, for minutes")

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

// pmExamples is the directory of the programs that link score/pm, below binaries.
const pmExamples = "pm"

// binaries is the directory of the freshly built programs.
var binaries string

func TestMain(m *testing.M) {
	flag.Parse()
	signals.Allow()
	os.Exit(withBinaries(m.Run))
}

// withBinaries builds scored and scrun from this tree, so that the scripts
// never test an older build.
func withBinaries(run func() int) int {
	dir, err := os.MkdirTemp("", "score-system-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// Other users run the programs too.
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	build := exec.Command("go", "build", "-o", dir+"/", "score/cmd/scored", "score/cmd/scrun")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	examples := exec.Command("go", "build", "-o", filepath.Join(dir, pmExamples)+"/", "score/examples/pm/...", "score/tests/traffic")
	examples.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := examples.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	binaries = dir
	return run()
}

func TestScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("whole-system scripts take a minute; run without -short")
	}
	testscript.RunT(terse{t}, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Deadline:            deadline(),
		Setup:               setup,
		Condition:           condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"cluster":   startCluster,
			"mpicc":     compileMPI,
			"ompicc":    compileOpenMPI,
			"pmixcc":    compilePMIx,
			"cc":        compileC,
			"libraries": buildLibraries,
			"until":     until,
			"nothing-left": func(ts *testscript.TestScript, neg bool, args []string) {
				ts.Check(nothingLeft(ts.Getenv("WORK")))
			},
			"nothing-left-of-jobs": nothingLeftOfJobs,
			"crash":                crash,
			"nothing-held":         nothingHeld,
		},
	})
}

// terse is a test whose scripts show the part that failed alone, unless -v asks for all of it: what
// writes a summary of a run has every test verbose, and its reader looks for one line.
type terse struct{ *testing.T }

func (t terse) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(terse{t}) })
}

func (terse) Verbose() bool { return flag.Lookup("test.v").Value.String() == "true" }

// deadline returns when the scripts must be over.
func deadline() time.Time {
	if *longPrograms {
		return time.Now().Add(time.Hour)
	}
	return time.Now().Add(10 * scriptTimeout)
}

// setup gives each script a short working directory of its own (Unix sockets
// have short names) that other users may enter.
func setup(env *testscript.Env) error {
	for _, dir := range []string{filepath.Dir(env.WorkDir), env.WorkDir} {
		if err := os.Chmod(dir, 0o755); err != nil {
			return err
		}
	}
	for name, path := range map[string]string{
		"EXAMPLES": "../../examples/mpi", "MPI_TESTS": "mpi", "PMIX": "../pmix", "KILL_AGENTS": "kill-agents.sh",
	} {
		path, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		env.Setenv(name, path)
	}
	env.Setenv("PATH", binaries+":"+os.Getenv("PATH"))
	env.Setenv("PM", filepath.Join(binaries, pmExamples))
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("TMPDIR", os.TempDir())
	env.Setenv("SCORE_SOCKET", "")
	// A few repetitions of small messages, small matrices; or NetPIPE's own choice up to 8 MiB.
	env.Setenv("NETPIPE", "-n 10 -u 300")
	env.Setenv("HPL_N", "64")
	env.Setenv("PROGRAMS", "short")
	if *longPrograms {
		env.Setenv("PROGRAMS", "long")
		env.Setenv("NETPIPE", "-u 8388608")
		env.Setenv("HPL_N", "1000")
	}
	work := env.WorkDir
	env.Defer(func() {
		if err := nothingLeft(work); err != nil {
			env.T().Log(err)
			env.T().FailNow()
		}
	})
	return nil
}

func condition(name string) (bool, error) {
	switch name {
	case "programs.long":
		return *longPrograms, nil
	case "root":
		return os.Getuid() == 0, nil
	case "cgroup":
		return os.Getuid() == 0 && (writable("/sys/fs/cgroup/unified/cgroup.procs") || writable("/sys/fs/cgroup/cgroup.procs")), nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

func writable(path string) bool {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

func compileMPI(ts *testscript.TestScript, neg bool, args []string) {
	compileWith(ts, "mpicc.mpich", args)
}

func compileOpenMPI(ts *testscript.TestScript, neg bool, args []string) {
	compileWith(ts, "mpicc.openmpi", args)
}

// compilePMIx builds programs that use libpmix itself, which comes with Open MPI.
func compilePMIx(ts *testscript.TestScript, neg bool, args []string) {
	dirs, err := filepath.Glob("/usr/lib/*/pmix2")
	ts.Check(err)
	if len(dirs) == 0 {
		ts.Fatalf("libpmix-dev is not installed; run .ci/setup test")
	}
	flags := []string{"-I" + filepath.Join(dirs[0], "include"), "-L" + filepath.Join(dirs[0], "lib"), "-lpmix"}
	compileWith(ts, "gcc", append(args, flags...))
}

func compileC(ts *testscript.TestScript, neg bool, args []string) {
	compileWith(ts, "gcc", args)
}

// compileWith builds `OUTPUT SOURCE...`.
func compileWith(ts *testscript.TestScript, compiler string, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: OUTPUT SOURCE...")
	}
	ctx, cancel := context.WithTimeout(context.Background(), scriptTimeout)
	defer cancel()
	line := append([]string{"-O2", "-w", "-o", ts.MkAbs(args[0])}, args[1:]...)
	cmd := exec.CommandContext(ctx, compiler, append(line, "-lm")...)
	cmd.Dir = ts.MkAbs(".")
	if out, err := cmd.CombinedOutput(); err != nil {
		ts.Fatalf("%s: %v\n%s", compiler, err, out)
	}
}

// until repeats a command until its output matches a pattern, as that of stdout:
// `until PATTERN COMMAND ARG...`; `! until` until it no longer does. For states that
// no command waits for. The last output is looked at further by stdout: the next
// call of the same command might find another state.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: until PATTERN COMMAND ARG...")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), untilTimeout)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var last []byte
	for {
		cmd := exec.CommandContext(ctx, args[1], args[2:]...)
		if path := filepath.Join(binaries, args[1]); exists(path) {
			cmd = exec.CommandContext(ctx, path, args[2:]...)
		}
		cmd.Dir = ts.MkAbs(".")
		cmd.Env = append(os.Environ(), "PATH="+ts.Getenv("PATH"), "SCORE_SOCKET="+ts.Getenv("SCORE_SOCKET"), "HOME="+ts.Getenv("HOME"))
		out, err := cmd.CombinedOutput()
		if pattern.Match(out) != neg {
			_, err := ts.Stdout().Write(out)
			ts.Check(err)
			return
		}
		if ctx.Err() == nil { // else the command may have been killed
			last = out
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("%q did not come (neg=%v): %v\n%s%s", args[0], neg, err, last, logTails(ts))
		case <-tick.C:
		}
	}
}

// logTails returns the last lines of the daemons' logs.
func logTails(ts *testscript.TestScript) string {
	const tail = 2000 // bytes: some ten lines
	paths, err := filepath.Glob(ts.MkAbs("*.log"))
	ts.Check(err)
	var all strings.Builder
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		fmt.Fprintf(&all, "\n%s ends with:\n%s", filepath.Base(path), text[max(0, len(text)-tail):])
	}
	return all.String()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
