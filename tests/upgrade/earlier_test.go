//go:build soak

package upgrade

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"score/tests/earlier"
	"score/tests/socketdir"
	"slices"
	"strings"
	"testing"
	"time"
)

// earlierBuild builds the programs of an earlier version, and an MPI program beside them.
func earlierBuild(t *testing.T) (dir string) {
	t.Helper()
	daemonstest.NeedRoot(t)
	tree := socketdir.MakeOpen(t)
	err := earlier.Tree(t.Context(), tree)
	if errors.Is(err, earlier.ErrNoHistory) {
		t.Skip(err)
	}
	if err == nil {
		err = earlier.Build(t.Context(), tree)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(tree, "bin")
	if out, err := exec.CommandContext(t.Context(), "mpicc.openmpi", "-o", filepath.Join(dir, "sums"), "testdata/sums.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// work is jobs of each kind, under scruns of the version that they began with.
type work struct {
	*scene
	over     func()
	messages *daemons.Job
	sums     *daemonstest.Program
	lines    *daemonstest.Program
}

// begin starts jobs by the programs of a directory: one is detached, one only waits, one writes all
// the time, and two exchange messages, by channels and by MPI over channels.
func (s *scene) begin(dir string) *work {
	s.T.Helper()
	now := s.Bin
	s.Bin = dir
	defer func() { s.Bin = now }()
	w := &work{scene: s}
	s.beats()
	w.over = s.attach()
	messages, err := s.Exchange("messages", "n1,n2", 2)
	s.Check(err)
	w.messages = messages
	w.sums = daemonstest.Begin(s.T, s.Cluster, s.Servers[0].Socket, "scrun", "--fabric", "pm", "-N", "2", "-n", "2",
		filepath.Join(dir, "sums"), "stop", "rounds")
	w.lines = daemonstest.Begin(s.T, s.Cluster, s.Servers[0].Socket, "scrun", "-N", "2", "-n", "2", "/bin/sh", "-c",
		"i=0; until test -e stop; do i=$((i + 1)); echo $SCORE_RANK.$i; sleep 0.02; done; echo $i >lines.$SCORE_RANK")
	return w
}

// goesOn waits until all jobs have done more.
func (w *work) goesOn() {
	w.T.Helper()
	w.scene.goesOn()
	_, err := w.messages.AwaitRounds(w.Ctx, time.Now())
	w.Check(err)
	said, rounds := len(w.lines.Said()), sizeOf(filepath.Join(w.Dir, "rounds"))
	w.Await("output goes on", func() bool { return len(w.lines.Said()) > said })
	w.Await("MPI goes on", func() bool {
		return w.sums.Over() || sizeOf(filepath.Join(w.Dir, "rounds")) > rounds
	})
}

// ends ends the jobs, which shall have done all, and written each line once.
func (w *work) ends() {
	w.T.Helper()
	w.over() // makes the file stop
	w.sums.Ends(0, "every sum is right")
	w.messages.Finish()
	if code, said, right, err := w.messages.Result(w.Ctx); code != 0 || !right || err != nil {
		w.T.Errorf("messages: exit code %d, %v, %v: %s", code, right, err, said)
	}
	w.lines.Ends(0)
	var want []string
	for rank := range 2 {
		text, err := os.ReadFile(filepath.Join(w.Dir, fmt.Sprint("lines.", rank)))
		w.Check(err)
		var last int
		_, err = fmt.Sscan(string(text), &last)
		w.Check(err)
		for i := range last {
			want = append(want, fmt.Sprintf("%d.%d", rank, i+1))
		}
	}
	got := slices.DeleteFunc(strings.Fields(w.lines.Said()), func(word string) bool { return !strings.Contains(word, ".") })
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		w.T.Errorf("of %d lines %d came: %s", len(want), len(got), w.lines.Said())
	}
}

// row is what a list of scored shows of a daemon; "" if nothing.
func (s *scene) row(list, name string) string {
	text, _ := s.Command(s.Ctx, s.Servers[0].Socket, list, "list") // while the server starts, it fails
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, name+" ") {
			return line
		}
	}
	return ""
}

// becomes replaces a daemon, which one of scored's lists then shows with its version.
func (w *work) becomes(list string, d *daemons.Daemon, dir, version string) {
	w.T.Helper()
	w.passes("n1,n2")
	w.replace(d, dir)
	w.isVersion(list, d, version)
}

func (w *work) isVersion(list string, d *daemons.Daemon, version string) {
	w.T.Helper()
	w.Await(d.Name+" is of version "+version, func() bool { return strings.Contains(w.row(list, d.Name), "  "+version+" ") })
	w.connected()
	w.goesOn()
}

// joinsAgain makes a server, whose data directory the earlier version may not read any more, one of
// that version, as docs/administering.md says.
func (w *work) joinsAgain(server *daemons.Daemon) *daemons.Daemon {
	w.T.Helper()
	w.Check(w.RemoveServer(w.Ctx, server))
	w.Check(os.RemoveAll(server.DataDir()))
	w.Check(os.RemoveAll(filepath.Join(w.Dir, "certs-"+server.Name)))
	again, err := w.AddServer(w.Ctx, server.Name)
	w.Check(err)
	w.isVersion("server", again, earlier.Version)
	return again
}

// TestEarlierBuild upgrades daemons of an earlier version under its jobs: followers, the leader,
// then the agents. The first of each kind goes back once, as after an upgrade that its
// administrator regrets.
func TestEarlierBuild(t *testing.T) {
	dir := earlierBuild(t)
	s := newScene(t, daemons.Options{ServerBin: dir, AgentBin: dir, Nodes: 2, Servers: 3})
	w := s.begin(dir)
	w.goesOn()
	leader := s.ServerNamed(s.Leader(t.Context(), s.Server))
	followers := s.OtherServers(leader)
	slices.Reverse(followers) // the first server, at which the test asks, stays
	w.becomes("server", followers[0], bin, "dev")
	followers[0] = w.joinsAgain(followers[0])
	for _, server := range append(followers, leader) {
		w.becomes("server", server, bin, "dev")
	}
	w.becomes("node", s.Agents[0], bin, "dev")
	w.becomes("node", s.Agents[0], dir, earlier.Version)
	for _, agent := range s.Agents {
		w.becomes("node", agent, bin, "dev")
	}
	s.afterAll("n1,n2")
	w.ends()
}
