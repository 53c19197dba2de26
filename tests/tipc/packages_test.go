package tipc

import (
	"context"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"score/tests/guest"
	"strings"
	"testing"
	"time"
)

// all runs the tests of whole packages, which take more than a minute in a guest.
var all = flag.Bool("tipc.all", false, "run the tests of packages in a guest, all of pm's among them")

// only chooses among those tests.
var only = flag.String("tipc.run", "", "with -tipc.all: the tests to run, as -run says it")

// patience bounds a test.
const patience = 5 * time.Minute

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// buildTests makes the test programs of packages, named after them.
func buildTests(t *testing.T, packages ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, p := range packages {
		goTool(t, "test", "-c", "-o", filepath.Join(dir, filepath.Base(p)+".test"), p)
	}
	return dir
}

// buildPrograms makes the daemons, scrun, and a program that exchanges messages.
func buildPrograms(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	goTool(t, "build", "-o", dir+"/", "score/cmd/scored", "score/cmd/scrun", "score/examples/pm/exchange")
	return dir
}

func goTool(t *testing.T, arguments ...string) {
	t.Helper()
	command := exec.CommandContext(patient(t), "go", arguments...)
	command.Env = append(command.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go %v: %v\n%s", arguments, err, out)
	}
}

// TestPackages runs tests of packages with TIPC as the link, in one guest.
func TestPackages(t *testing.T) {
	if !*all {
		t.Skip("takes more than a minute; .ci/run does it with -tipc.all")
	}
	t.Parallel()
	dir := buildTests(t, "score/channels/link/tipc", "score/channels/node", "score/pm")
	g := guest.Start(patient(t), t, guest.Options{Name: "alone", Memory: 768, Modules: []string{"tipc"}, Shared: map[string]string{"/mnt": dir}})
	for program, flags := range map[string]string{
		"tipc": "",
		"node": "",
		// One processor for all ranks that poll: as many messages as elsewhere would take an hour.
		"pm": "-pm.messages 400",
	} {
		t.Run(program, func(t *testing.T) {
			const command = "cd /tmp && ip link set lo up && SCORE_LINK=tipc /mnt/%s.test -test.timeout 4m -test.v -test.run '%s' %s"
			r, err := g.Run(patient(t), fmt.Sprintf(command, program, *only, flags))
			if err != nil || r.Code != 0 {
				t.Fatalf("exit code %d, %v\n%s%s", r.Code, err, r.Stdout, r.Stderr)
			}
			passed := strings.Count(r.Stdout, "--- PASS")
			if t.Logf("%d tests pass", passed); passed == 0 && *only == "" {
				t.Errorf("nothing was tested:\n%s%s", r.Stdout, r.Stderr)
			}
			if strings.Contains(r.Stdout, "the kernel has no TIPC") {
				t.Error("the guest's kernel has no TIPC")
			}
		})
	}
}
