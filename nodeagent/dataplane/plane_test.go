package dataplane

import (
	"context"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/tests/await"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
)

func open(t *testing.T) *Plane {
	t.Helper()
	p, err := Open(
		Options{
			Address:    netip.MustParseAddrPort("127.0.0.1:0"),
			Socket:     "@score-pm-" + strings.ReplaceAll(t.Name(), "/", "-"),
			Cluster:    "c",
			ClusterKey: "k",
			Logger:     zap.NewNop(),
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	p.Serve()
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if held := images(t); len(held) != 0 {
			t.Errorf("left: %v", held)
		}
	})
	return p
}

// images are the contexts and place maps that this process holds.
func images(t *testing.T) (held []string) {
	t.Helper()
	const dir = "/proc/self/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if link, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && strings.HasPrefix(link, "/memfd:score") {
			held = append(held, link)
		}
	}
	return held
}

func orderOf(id uint64, uid int, ranks ...uint32) *agentpb.Prepare {
	return &agentpb.Prepare{
		JobId:  id,
		Spec:   &scorev1.JobSpec{ChannelsPerTask: 3},
		User:   &scorev1.Identity{Uid: uint32(uid)},
		Places: []*scorev1.NodePlace{{Node: "n1", Ranks: ranks}},
	}
}

// add makes a job whose steward is this process.
func add(t *testing.T, p *Plane, order *agentpb.Prepare) *Job {
	t.Helper()
	j, err := p.Add(t.Context(), order, os.Getpid(), Spares{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// child is a process of the test binary.
type child struct {
	command *exec.Cmd
	out     strings.Builder
}

func start(t *testing.T, arguments ...string) *child {
	t.Helper()
	c := &child{command: exec.CommandContext(t.Context(), "/proc/self/exe", arguments...)}
	c.command.Stdout, c.command.Stderr = &c.out, os.Stderr
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *child) pid() int32 { return int32(c.command.Process.Pid) }

func (c *child) wait() (code int, out string) {
	_ = c.command.Wait() // the exit code says it
	return c.command.ProcessState.ExitCode(), strings.TrimSpace(c.out.String())
}

func TestRanksAreServedAndTheirDescendants(t *testing.T) {
	p := open(t)
	j := add(t, p, orderOf(7, os.Getuid(), 0, 1, 2))
	ranks := []*child{start(t, "rank", p.Socket()), start(t, "shell", "rank", p.Socket()), start(t, "shell", "shell", "rank", p.Socket())}
	// The first at least connects before its steward has told who it is.
	await.That(t, "a connection waits for its rank", j.isWaitedFor)
	j.Launched([]int32{ranks[0].pid(), ranks[1].pid(), ranks[2].pid()})
	for i, c := range ranks {
		if code, out := c.wait(); code != codeServed || out != string(rune('0'+i)) {
			t.Errorf("rank %d: exit code %d, it is rank %q", i, code, out)
		}
	}
	if n := p.Totals().Contexts; n != 3 {
		t.Errorf("%d contexts", n)
	}
	if all := j.Channels(); len(all) != 3 || all[1].GetRank() != 1 || all[1].GetState() != stateNew || all[1].GetJobId() != 7 {
		t.Errorf("channels %v", all)
	}
	for rank := range uint32(3) {
		j.Ended(rank)
	}
	if all := j.Rank(2); len(all) != 1 || all[0].GetState() != stateGone {
		t.Errorf("rank 2 is told as %v", all)
	}
	j.Leave(LingerEnded)
	j.Leave(0)
	<-j.gone
	if n, held := p.Totals().Contexts, images(t); n != 0 || len(held) != 0 {
		t.Errorf("%d contexts, %v after the job", n, held)
	}
}

// isWaitedFor reports whether a connection waits for Launched.
func (j *Job) isWaitedFor() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.waiting > 0
}

func TestStrangersAreRefused(t *testing.T) {
	tests := []struct {
		name    string
		order   *agentpb.Prepare
		prepare func(j *Job, stranger int32)
		steward int
	}{
		{"no rank", orderOf(1, os.Getuid(), 0), func(j *Job, _ int32) { j.Launched([]int32{1}) }, os.Getpid()},
		{"another user's", orderOf(1, os.Getuid()+1, 0), func(j *Job, pid int32) { j.Launched([]int32{pid}) }, os.Getpid()},
		{"no child of the steward", orderOf(1, os.Getuid(), 0), func(j *Job, pid int32) { j.Launched([]int32{pid}) }, 1 << 30},
		{"younger than the ranks", orderOf(1, os.Getuid(), 0), func(j *Job, pid int32) {
			j.pids, j.at = []int32{pid}, 0
			close(j.launched)
		}, os.Getpid()},
		{"of a job that is over", orderOf(1, os.Getuid(), 0), func(j *Job, pid int32) {
			j.Leave(0)
			j.Launched([]int32{pid})
		}, os.Getpid()},
		{"of a job that ends before it is launched", orderOf(1, os.Getuid(), 0), func(j *Job, _ int32) {
			await.That(t, "a connection waits for its rank", j.isWaitedFor)
			j.Leave(0)
		}, os.Getpid()},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := open(t)
			j, err := p.Add(t.Context(), test.order, test.steward, Spares{})
			if err != nil {
				t.Fatal(err)
			}
			stranger := start(t, "rank", p.Socket())
			test.prepare(j, stranger.pid())
			if code, out := stranger.wait(); code != codeRefused {
				t.Errorf("exit code %d, %q", code, out)
			}
			if n := p.Totals().Contexts; n != 0 {
				t.Errorf("%d contexts were made for it", n)
			}
		})
	}
}

// A process that takes a dead rank's place waits until it is heard of, and gets other channels than
// those that died.
func TestRespawned(t *testing.T) {
	p := open(t)
	order := orderOf(1, os.Getuid(), 0)
	order.Spec = &scorev1.JobSpec{Respawn: 1, ChannelsPerTask: 2}
	j := add(t, p, order)
	first := start(t, "rank", p.Socket())
	j.Launched([]int32{first.pid()})
	if code, out := first.wait(); code != codeServed {
		t.Fatalf("exit code %d, %q", code, out)
	}
	j.Ended(0)
	for range 2 { // the same channel, of which the first process has died
		next := start(t, "rank", p.Socket())
		await.That(t, "a connection waits for its rank", j.isWaitedFor)
		j.Respawned(0, next.pid())
		if code, out := next.wait(); code != codeFailed {
			t.Errorf("exit code %d, %q", code, out)
		}
	}
	if all := j.Rank(0); len(all) != 1 || all[0].GetState() != stateGone {
		t.Errorf("%v", all)
	}
	if _, err := j.handle.Image(2, 0); err != nil {
		t.Error(err)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	p := open(t)
	j := add(t, p, orderOf(1, os.Getuid(), 0, 1))
	c := start(t, "crowd", p.Socket())
	j.Launched([]int32{c.pid(), 1})
	code, out := c.wait()
	if n := atoi(t, out); code != codeServed || n != 2*connectionsPerRank {
		t.Errorf("exit code %d, %d connections, want %d", code, n, 2*connectionsPerRank)
	}
}

// A job that is put back into the queue comes again with its number, while its first
// run is still on its way out.
func TestSameNumberAgain(t *testing.T) {
	p := open(t)
	first := add(t, p, orderOf(5, os.Getuid(), 0))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := p.Add(ctx, orderOf(5, os.Getuid(), 0), os.Getpid(), Spares{}); err == nil {
		t.Error("two jobs with one number")
	}
	first.Leave(LingerKilled)
	second := add(t, p, orderOf(5, os.Getuid(), 0))
	if second.handle.Key() != first.handle.Key() || p.find(5) != second {
		t.Error("it is another job")
	}
}

func TestClosedPlaneTakesNoJob(t *testing.T) {
	p := open(t)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Add(t.Context(), orderOf(5, os.Getuid(), 0), os.Getpid(), Spares{}); err == nil {
		t.Error("it took one")
	}
}
