package ofi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"score/tests/devcluster"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds a job, which waits itself for less.
const patience = time.Minute

// built is the directory of scored, scrun, the libraries in lib, and the two programs.
var built string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "score-ofi-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	built = dir
	return m.Run()
}

// build builds all that is needed, at once: most of it waits for the linker.
func build(dir string) error {
	sources, err := filepath.Glob("testdata/consumer/*.c")
	if err != nil {
		return err
	}
	// -Wno-deprecated-declarations: programs may call what libfabric 2 deprecates.
	compile := append([]string{
		"-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations",
		"-rdynamic", "-o", filepath.Join(dir, "consumer"),
	}, sources...)
	commands := []*exec.Cmd{
		exec.Command("go", "build", "-o", dir+"/", "score/cmd/scored", "score/cmd/scrun", "score/tests/ofi/rank"),
		exec.Command("../../pm/lib/build", filepath.Join(dir, "lib")),
		exec.Command("gcc", append(compile, "-lfabric", "-lpthread", "-lm")...),
	}
	commands[0].Env = append(os.Environ(), "CGO_ENABLED=0")
	failed := make([]error, len(commands))
	var all sync.WaitGroup
	for i, command := range commands {
		all.Go(func() {
			if out, err := command.CombinedOutput(); err != nil {
				failed[i] = fmt.Errorf("%s: %w\n%s", command, err, out)
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// job is how the two ranks run.
type job struct {
	nodes int
	ranks [2]string // programs
	other bool      // with the libfabric of the distribution, which loads the provider
	rows  []string  // that they do
}

var (
	everything = func(row) bool { return true }
	onTheWire  = func(r row) bool { return r.goes }
)

func TestRows(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster of two nodes; run without -short")
	}
	dir := t.TempDir()
	cluster, err := devcluster.Start(t.Context(), devcluster.Options{
		Scored: filepath.Join(built, "scored"), Socket: filepath.Join(dir, "s"), Nodes: 2, Dir: dir, Errors: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	}()
	const c, g = "consumer", "rank"
	for name, j := range map[string]job{
		"C on one node":         {1, [2]string{c, c}, false, names(everything)},
		"C on two nodes":        {2, [2]string{c, c}, false, names(everything)},
		"another libfabric":     {1, [2]string{c, c}, true, names(everything)},
		"C and Go on one node":  {1, [2]string{c, g}, false, names(onTheWire)},
		"C and Go on two nodes": {2, [2]string{c, g}, false, names(onTheWire)},
		"Go and C on two nodes": {2, [2]string{g, c}, false, names(onTheWire)},
	} {
		t.Run(name, func(t *testing.T) { j.run(t, cluster.Socket) })
	}
}

// run runs the job, and each of its rows is a test.
func (j job) run(t *testing.T, socket string) {
	dir := t.TempDir()
	script := fmt.Sprintf(`case $SCORE_RANK in 0) exec %s "$@" ;; 1) exec %s "$@" ;; esac`, filepath.Join(built, j.ranks[0]), filepath.Join(built, j.ranks[1]))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	arguments := []string{"-N", strconv.Itoa(j.nodes), "-n", "2", "--oversubscribe", "--fabric", "pm", "sh", "-c", script, "sh", dir}
	command := exec.CommandContext(ctx, filepath.Join(built, "scrun"), append(arguments, j.rows...)...)
	command.Env = append(os.Environ(), "SCORE_SOCKET="+socket, "SCORE_FABRIC_DIR="+filepath.Join(built, "lib"))
	if j.other {
		command.Env = append(command.Env, "LD_LIBRARY_PATH="+distribution(t))
	}
	out, err := command.CombinedOutput()
	said := string(out)
	over := "" // the row in which a rank ended
	for _, name := range j.rows {
		t.Run(name, func(t *testing.T) {
			if over != "" {
				t.Skip("the ranks ended in row " + over)
			}
			for rank := range 2 {
				result := regexp.MustCompile(fmt.Sprintf("(?m)^%d %s (.*)$", rank, name)).FindStringSubmatch(said)
				switch {
				case result == nil:
					t.Errorf("rank %d did not come to its end", rank)
				case result[1] != "ok":
					t.Errorf("rank %d: %s", rank, result[1])
				}
			}
			if t.Failed() {
				over = name
			}
		})
	}
	if extra := strings.Count(said, "\n") - 2*len(j.rows); err != nil || extra != 0 {
		t.Errorf("%v, %d lines more than the rows of both ranks:\n%s", err, extra, said)
	}
}

// distribution is the directory of the libfabric that programs find without us.
func distribution(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ldconfig", "-p").Output()
	found := regexp.MustCompile(`libfabric\.so\.1 .*=> (.*)/libfabric`).FindSubmatch(out)
	if err != nil || found == nil {
		t.Fatalf("there is no libfabric.so.1; .ci/setup test installs it (%v)", err)
	}
	return string(found[1])
}

// TestProgramsHaveTheRows: a row that no program does would be no test.
func TestProgramsHaveTheRows(t *testing.T) {
	for _, c := range []struct {
		file string
		is   func(row) bool
	}{{"testdata/consumer/rows.c", everything}, {"rank/main.go", onTheWire}} {
		text, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		var have []string
		for _, m := range regexp.MustCompile(`(?m)^\t\{"([a-z-]+)", \w+\},`).FindAllStringSubmatch(string(text), -1) {
			have = append(have, m[1])
		}
		if want := names(c.is); strings.Join(have, " ") != strings.Join(want, " ") {
			t.Errorf("%s has the rows %v, want %v", c.file, have, want)
		}
	}
}
