package system

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"score/tests/devcluster"
	"score/tests/journal"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// fewCPUs is what the lines of the documents and of scored dev have to run on.
	fewCPUs = 2
	// lineTimeout bounds one of these lines.
	lineTimeout = time.Minute
)

// page is a document whose lines of scrun and scored are typed.
type page struct {
	file    string // from the root of the repository
	section string // that has the lines; empty: all
}

// The lines of running.md before its first line of several nodes need no cluster, and those of
// mpi.md.
var (
	runningPage  = page{"docs/running.md", ""}
	mpiPage      = page{"docs/mpi.md", ""}
	clusterPages = []page{
		{"README.md", "Five lines of use"},
		{"docs/channels.md", ""},
		{"docs/trying.md", "A cluster on one machine"},
		{"docs/administering.md", "Users and shares"},
	}
)

// shownSpecial are the lines that are not simply run, or do not end with 0.
var shownSpecial = map[string]struct {
	code int
	skip string // why it is not run here
}{
	"scored dev --nodes 4":    {skip: "it is what the others run on"},
	"scored top":              {skip: "it goes on until ^C"},
	"scrun --pty bash":        {skip: "it needs a terminal; scrun's own tests sit at one"},
	"scrun -N 2 -n 4 ./a.out": {skip: "it needs a program of MPI; script fabric has some"},

	"scrun -N 2 -n 4 --kill-on-deadlock ./waiting": {code: 124},
}

// What scored dev and the documents tell people to type runs on a machine of two CPUs.
func TestLinesShown(t *testing.T) {
	if testing.Short() {
		t.Skip("starts clusters")
	}
	running := shownBlocks(t, runningPage)
	t.Run("alone", func(t *testing.T) {
		onFewCPUs(t)
		p := newPlace(t)
		for _, line := range slices.Concat(running[0], slices.Concat(shownBlocks(t, mpiPage)...)) {
			p.run(t, line)
		}
	})
	t.Run("cluster", func(t *testing.T) {
		onFewCPUs(t)
		p := newPlace(t)
		banner := p.cluster(t, 4)
		job := p.stay(t)
		lines := slices.Concat(banner, slices.Concat(running[1:]...))
		for _, page := range clusterPages {
			lines = append(lines, slices.Concat(shownBlocks(t, page)...)...)
		}
		slices.SortStableFunc(lines, func(a, b string) int { return cmp.Compare(endsJob(a), endsJob(b)) })
		for _, line := range lines {
			p.run(t, withJob(line, job))
		}
	})
	t.Run("banner", func(t *testing.T) {
		onFewCPUs(t)
		p := newPlace(t)
		lines := p.cluster(t, 2)
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "scrun -N 2 ") }) {
			t.Fatalf("scored dev tells nobody to type scrun: %q", lines)
		}
		for _, line := range lines {
			p.run(t, line)
		}
	})
}

// endsJob is 1 for the line after which the others have no job.
func endsJob(line string) int {
	if strings.HasPrefix(line, "scored job cancel ") {
		return 1
	}
	return 0
}

// The refusal of a job says what is short, and what helps.
func TestRefusalsShown(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	cpus := onFewCPUs(t)
	p := newPlace(t)
	refused := func(line, want string) {
		t.Helper()
		out, err := p.command(line).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n got %swant %s", line, err, out, want)
		}
	}
	refused("scrun -N 3 true", "too many nodes: the job asks for 3, the cluster has 1; 'scored dev --nodes 3' runs a cluster of as many on this machine")
	tooFewCPUs := "too few CPUs: the job asks for 4 tasks, a CPU each; the cluster has room for %d; -s (--oversubscribe) lets its ranks share CPUs"
	refused("scrun -s=false -n 4 true", fmt.Sprintf(tooFewCPUs, cpus))
	p.cluster(t, 2)
	refused("scrun -s=false -n 4 true", fmt.Sprintf(tooFewCPUs, 2)) // a CPU on each node
	refused("scrun --exclusive -n 4 true", "without --exclusive, -s lets its ranks share CPUs")
	refused("scrun --mem 900T true", "too much memory: the job asks for 900T on each node; the most on a node is ")
	refused("scrun -n 17 --channels 2 true", "too many channels: 17 tasks with 2 channels each need 34, ")
}

// onFewCPUs gives this test, and what it starts, two CPUs of the machine, or its only one. It
// returns how many.
func onFewCPUs(t *testing.T) int {
	runtime.LockOSThread() // for the rest of its life, so that the thread ends with the goroutine
	var all, few unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; few.Count() < min(fewCPUs, all.Count()); cpu++ {
		if all.IsSet(cpu) {
			few.Set(cpu)
		}
	}
	if err := unix.SchedSetaffinity(0, &few); err != nil {
		t.Fatal(err)
	}
	return few.Count()
}

// shownBlocks are the commands of scrun and scored on a page, block by block.
func shownBlocks(t *testing.T, p page) (blocks [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", p.file))
	if err != nil {
		t.Fatal(err)
	}
	section, inside := "", false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && line[0] == '#' {
			section = title
		}
		code, ok := strings.CutPrefix(line, "    ")
		if !ok {
			inside = inside && line == ""
			continue
		}
		if p.section != "" && p.section != section {
			continue
		}
		command, _, _ := strings.Cut(code, " #")
		command = strings.TrimSpace(command)
		if !strings.HasPrefix(command, "scrun ") && !strings.HasPrefix(command, "scored ") {
			continue
		}
		if !inside {
			blocks = append(blocks, nil)
		}
		inside = true
		blocks[len(blocks)-1] = append(blocks[len(blocks)-1], command)
	}
	if len(blocks) == 0 {
		t.Fatalf("%s: no line of scrun or scored in the section %q", p.file, p.section)
	}
	return blocks
}

// place is a directory with the programs that the documents name.
type place struct {
	dir string
	env []string
}

func newPlace(t *testing.T) *place {
	dir, err := os.MkdirTemp("", "lines") // short: sockets are below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := nothingLeft(dir); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir) // of /tmp
	})
	hostname, err := exec.LookPath("hostname")
	if err != nil {
		t.Fatal(err)
	}
	pm := filepath.Join(binaries, pmExamples)
	programs := map[string]string{
		"a.out": hostname, "stencil": pm + "/stencil", "run/stencil": pm + "/stencil", "exchange": pm + "/exchange",
		"keys": pm + "/keys", "ring": pm + "/ring", "waiting": pm + "/waiting", "twochannels": pm + "/ring",
	}
	for name, target := range programs {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "user"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "SCORE_") })
	return &place{dir: dir, env: append(env, "PATH="+binaries+":"+os.Getenv("PATH"), "HOME="+dir, "PWD="+dir,
		"XDG_RUNTIME_DIR="+filepath.Join(dir, "user"))}
}

// cluster starts scored dev, where scrun finds it by itself, and returns the lines that it shows.
func (p *place) cluster(t *testing.T, nodes int) (lines []string) {
	t.Helper()
	var said, errors journal.Journal
	dev, err := devcluster.Start(context.Background(), devcluster.Options{
		Scored: filepath.Join(binaries, "scored"), Socket: filepath.Join(p.dir, "user/score/dev.sock"), Nodes: nodes,
		Dir: p.dir, Env: p.env, Output: &said, Errors: &errors,
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, errors.String())
	}
	// Registered after the directory's removal, so it goes first.
	t.Cleanup(func() {
		if err := dev.Stop(); err != nil {
			t.Errorf("%v\n%s", err, errors.String())
		}
	})
	until := time.Now().Add(lineTimeout)
	for !strings.Contains(said.String(), "^C ends") {
		if time.Now().After(until) {
			t.Fatalf("scored dev said only:\n%s", said.String())
		}
		time.Sleep(pollInterval)
	}
	for line := range strings.Lines(said.String()) {
		if code, ok := strings.CutPrefix(line, "  "); ok {
			lines = append(lines, strings.TrimSpace(code))
		}
	}
	return lines
}

// stay starts a job with channels that runs until it is ended, for lines that ask about one.
func (p *place) stay(t *testing.T) (job string) {
	t.Helper()
	out, err := p.command("scrun --requeue -d -N 2 -n 4 ./stencil -steps 1000000000").Output()
	if err != nil {
		t.Fatalf("a job that stays: %v", err)
	}
	job = strings.TrimSpace(string(out))
	until := time.Now().Add(lineTimeout)
	for {
		out, err := p.command("scored channel list").CombinedOutput()
		if err == nil && bytes.Contains(out, []byte(job)) {
			return job
		}
		if time.Now().After(until) {
			t.Fatalf("job %s has no channels: %v\n%s", job, err, out)
		}
		time.Sleep(pollInterval)
	}
}

// shownJob matches where lines name a job.
var shownJob = regexp.MustCompile(`(job \w+ |channel show |score-)[78]\b`)

// withJob is a line about a job, and about a user, that are there.
func withJob(line, job string) string {
	line = strings.Replace(line, " ann ", " nobody ", 1) // there is such a user everywhere
	return shownJob.ReplaceAllString(line, "${1}"+job)
}

func (p *place) command(line string) *exec.Cmd {
	command := exec.Command("sh", "-c", line)
	command.Dir, command.Env = p.dir, p.env
	return command
}

// run types a line and looks at how it ends.
func (p *place) run(t *testing.T, line string) {
	t.Helper()
	special := shownSpecial[line]
	if special.skip != "" {
		return
	}
	command := p.command(line)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(lineTimeout, func() { _ = command.Process.Kill() }) // what it waits for is shown
	defer kill.Stop()
	_ = command.Wait() // its exit code counts
	if code := command.ProcessState.ExitCode(); code != special.code {
		t.Errorf("%s\nended with %d, want %d:\n%s", line, code, special.code, out.String())
	}
}
