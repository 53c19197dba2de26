package steward_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/channels/procstat"
	"score/nodeagent/cgroup"
	"score/nodeagent/mpidirs"
	"score/nodeagent/steward"
	"score/nodeagent/steward/client"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/tests/socketdir"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain lets the test binary be a steward, as scored and scrun are.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "steward" {
		os.Exit(steward.Main(os.Args[2:]))
	}
	// A program with the race detector else waits a second at its end.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

// timeout is how long a test waits for what must come.
const timeout = 60 * time.Second

const (
	testJob  = 7
	testNode = "n1"
)

// agent is a test's end of one steward.
type agent struct {
	t       testing.TB
	slot    client.Slot
	process *client.Process
	conn    *client.Conn
	status  *stewardpb.Status
	group   *cgroup.Group // nil without control groups

	mu      sync.Mutex
	dials   int
	heard   []*stewardpb.FromSteward
	closed  bool
	arrived chan struct{} // one element when something was heard
}

// option changes the slot before its steward starts.
type option func(*agent)

func withGrace(d time.Duration) option { return func(a *agent) { a.slot.Grace = d } }

// withCgroup gives the slot a control group where the host allows one.
func withCgroup(a *agent) {
	if report := cgroup.Probe(); !report.Usable {
		a.t.Skip("no control groups: " + report.Reason)
	}
	a.slot.Cluster = fmt.Sprintf("steward-test-%d-%d", os.Getpid(), nextCluster())
	a.slot.Node, a.slot.Cgroups = testNode, true
	root, err := cgroup.OpenRoot(a.slot.Cluster, a.slot.Node)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() {
		if _, err := root.Sweep(time.Now().Add(timeout), nil); err != nil {
			a.t.Errorf("control groups: %v", err)
		}
		if err := root.Remove(time.Now().Add(time.Minute)); err != nil {
			a.t.Errorf("control groups: %v", err)
		}
	})
	if a.group, err = root.Create(0); err != nil {
		a.t.Fatal(err)
	}
}

var clusters struct {
	sync.Mutex
	n int
}

func nextCluster() int {
	clusters.Lock()
	defer clusters.Unlock()
	clusters.n++
	return clusters.n
}

// start starts a steward and connects to it.
func start(t testing.TB, options ...option) *agent {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{t: t, arrived: make(chan struct{}, 1)}
	a.slot = client.Slot{Exe: exe, RunDir: socketdir.Make(t), Grace: timeout, Stderr: complaints(t)}
	for _, o := range options {
		o(a)
	}
	if a.process, err = client.Start(a.slot); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.stop)
	a.dial()
	return a
}

// stop ends the steward by force, and removes what its job then leaves.
func (a *agent) stop() {
	if a.conn != nil {
		a.conn.Close()
	}
	a.process.Kill()
	<-a.process.Done()
	if _, err := mpidirs.Sweep(context.Background(), a.files()); err != nil {
		a.t.Error(err)
	}
}

// files is what the names of its jobs' directories begin with.
func (a *agent) files() string { return mpidirs.Prefix(a.slot.Cluster, testNode, a.slot.RunDir) }

// complaints is the steward's standard error: it must stay empty, also of what
// the race detector finds.
func complaints(t testing.TB) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "stderr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer f.Close()
		if text, err := os.ReadFile(f.Name()); err != nil || len(text) > 0 {
			t.Errorf("the steward complains: %s (%v)", text, err)
		}
	})
	return f
}

// dial connects, as an agent that was restarted does.
func (a *agent) dial() {
	a.t.Helper()
	a.mu.Lock()
	a.heard, a.closed = nil, false
	a.dials++
	dial := a.dials
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var err error
	a.conn, a.status, err = client.Dial(ctx, a.process.Socket, client.Events{
		Message: func(m *stewardpb.FromSteward) { a.note(dial, m) },
		Closed:  func(error) { a.note(dial, nil) },
	})
	if err != nil {
		a.t.Fatalf("connecting: %v", err)
	}
}

// note keeps what the newest connection hears.
func (a *agent) note(dial int, m *stewardpb.FromSteward) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if dial != a.dials {
		return
	}
	if m == nil {
		a.closed = true
	} else {
		a.heard = append(a.heard, m)
	}
	select {
	case a.arrived <- struct{}{}:
	default:
	}
}

// await returns the n-th message (from 0) for which pick is not nil.
func await[T any](a *agent, what string, n int, pick func(*stewardpb.FromSteward) *T) *T {
	a.t.Helper()
	timeout := time.After(timeout)
	for {
		a.mu.Lock()
		seen := 0
		for _, m := range a.heard {
			if v := pick(m); v != nil {
				if seen == n {
					a.mu.Unlock()
					return v
				}
				seen++
			}
		}
		closed := a.closed
		a.mu.Unlock()
		if closed {
			a.t.Fatalf("the connection ended before %s", what)
		}
		select {
		case <-a.arrived:
		case <-timeout:
			a.t.Fatalf("waited in vain for %s; heard %v", what, a.all())
		}
	}
}

func (a *agent) all() []*stewardpb.FromSteward {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]*stewardpb.FromSteward(nil), a.heard...)
}

func (a *agent) prepared() *agentpb.Prepared {
	a.t.Helper()
	return await(a, "Prepared", 0, (*stewardpb.FromSteward).GetPrepared)
}

func (a *agent) launched() *agentpb.Launched {
	a.t.Helper()
	return await(a, "Launched", 0, (*stewardpb.FromSteward).GetLaunched)
}

func (a *agent) exit(n int) *agentpb.RankExited {
	a.t.Helper()
	return await(a, "RankExited", n, (*stewardpb.FromSteward).GetRankExited)
}

func (a *agent) abort() *agentpb.Abort {
	a.t.Helper()
	return await(a, "Abort", 0, (*stewardpb.FromSteward).GetAbort)
}

func (a *agent) jobNote() *agentpb.JobNote {
	a.t.Helper()
	return await(a, "JobNote", 0, (*stewardpb.FromSteward).GetNote)
}

func (a *agent) done() *agentpb.NodeDone {
	a.t.Helper()
	return await(a, "NodeDone", 0, (*stewardpb.FromSteward).GetNodeDone)
}

// exits waits for the end of the job and returns the ranks' by rank.
func (a *agent) exits() map[uint32]*agentpb.RankExited {
	a.t.Helper()
	a.done()
	exits := make(map[uint32]*agentpb.RankExited)
	for _, m := range a.all() {
		if e := m.GetRankExited(); e != nil {
			if exits[e.GetRank()] != nil {
				a.t.Errorf("rank %d ended twice", e.GetRank())
			}
			exits[e.GetRank()] = e
		}
	}
	return exits
}

// left waits for the steward to exit.
func (a *agent) left() {
	a.t.Helper()
	select {
	case <-a.process.Done():
	case <-time.After(timeout):
		a.t.Fatal("the steward does not exit")
	}
	if _, err := os.Stat(a.process.Socket); err == nil {
		a.t.Error("the socket is left")
	}
}

// change alters an order before it is sent.
type change func(*stewardpb.PrepareJob)

func withSpec(f func(*scorev1.JobSpec)) change {
	return func(p *stewardpb.PrepareJob) { f(p.Job.Spec) }
}

// order is a job of one node with so many ranks.
func (a *agent) order(ranks int, argv []string, changes ...change) *stewardpb.PrepareJob {
	place := &scorev1.NodePlace{Node: testNode, Cpus: []uint32{0}}
	for k := range ranks {
		place.Ranks = append(place.Ranks, uint32(k))
	}
	dir, err := os.Getwd()
	if err != nil {
		a.t.Fatal(err)
	}
	p := &stewardpb.PrepareJob{
		Node:   testNode,
		Files:  mpidirs.Name(a.files(), testJob),
		CpuIds: []uint32{0},
		Job: &agentpb.Prepare{
			JobId:  testJob,
			User:   &scorev1.Identity{Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid())},
			Places: []*scorev1.NodePlace{place},
			Spec: &scorev1.JobSpec{
				Argv: argv, Env: []string{"PATH=/usr/bin:/bin"}, WorkDir: dir, Tasks: uint32(ranks), Umask: 0o22,
			},
		},
	}
	if a.group != nil {
		p.Cgroup, p.MemoryCgroup = a.group.Dir(), a.group.MemoryDir()
	}
	for _, c := range changes {
		c(p)
	}
	return p
}

func sh(script string) []string { return []string{"/bin/sh", "-c", script} }

// ready prepares a job, which must succeed.
func (a *agent) ready(order *stewardpb.PrepareJob) {
	a.t.Helper()
	if err := a.conn.Prepare(order); err != nil {
		a.t.Fatal(err)
	}
	if p := a.prepared(); p.GetExitCode() != 0 || p.GetJobId() != order.GetJob().GetJobId() {
		a.t.Fatalf("prepared: %v", p)
	}
}

// run prepares and launches a job.
func (a *agent) run(ranks int, argv []string, changes ...change) {
	a.t.Helper()
	a.ready(a.order(ranks, argv, changes...))
	a.do(a.conn.Launch())
}

func (a *agent) do(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// reader confirms what it receives at once.
type reader struct {
	*client.Stdio
	agent *agent
}

func (r *reader) Receive() (out *scorev1.Output, drained bool, err error) {
	out, drained, err = r.Stdio.Receive()
	if number := out.GetMark().GetSequence(); number > 0 {
		_ = r.agent.conn.Taken(number) // a test may have hung up
	}
	return out, drained, err
}

func (a *agent) stdio() *reader {
	a.t.Helper()
	return a.stdioOf(0)
}

// stdioOf is for the streams of one job, 0: of any.
func (a *agent) stdioOf(job uint64) *reader {
	a.t.Helper()
	return &reader{a.openStdio(job), a}
}

// openStdio connects a reader that has no output yet.
func (a *agent) openStdio(job uint64) *client.Stdio {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	s, err := client.DialStdio(ctx, a.process.Socket, job, 0)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { s.Close() })
	return s
}

// stream names one stream of one rank.
type stream struct {
	rank, number uint32
}

// readAll receives until the last message.
func readAll(t testing.TB, s *reader) map[stream]string {
	t.Helper()
	texts, ended := make(map[stream]*strings.Builder), make(map[stream]bool)
	for {
		out, drained, err := s.Receive()
		if err != nil {
			t.Fatalf("receiving output: %v", err)
		}
		if drained {
			break
		}
		key := stream{out.GetRank(), out.GetStream()}
		if texts[key] == nil {
			texts[key] = new(strings.Builder)
		}
		if ended[key] {
			t.Errorf("output of %v after its end", key)
		}
		ended[key] = out.GetEof()
		texts[key].Write(out.GetData())
	}
	all := make(map[stream]string)
	for key, b := range texts {
		if !ended[key] {
			t.Errorf("%v has no end", key)
		}
		all[key] = b.String()
	}
	return all
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := procstat.Read(pid)
	return err == nil && !stat.Exited()
}

// buildC compiles a C program with the given compiler, or skips.
func buildC(t testing.TB, compiler, source string) string {
	t.Helper()
	path, err := exec.LookPath(compiler)
	if err != nil {
		t.Skipf("%s is not installed", compiler)
	}
	exe := filepath.Join(t.TempDir(), "prog")
	if out, err := exec.Command(path, "-o", exe, source).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compiler, err, out)
	}
	return exe
}
