package stewardpool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"score/nodeagent/cgroup"
	"score/nodeagent/mpidirs"
	"score/nodeagent/steward"
	"score/nodeagent/steward/client"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/tests/await"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary be a steward.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "steward" {
		os.Exit(steward.Main(os.Args[2:]))
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

// timeout bounds every wait of these tests.
const timeout = 60 * time.Second

const (
	ann uint32 = 1001
	bob uint32 = 1002
)

var pools atomic.Int32

// testPool is a pool with control groups, or skips where there are none. Its
// Run is not called: what a test does not start, is not there.
func testPool(t *testing.T, warm int, change ...func(*Options)) *Pool {
	t.Helper()
	if r := cgroup.Probe(); !r.Usable {
		t.Skip("control groups cannot be used: ", r.Reason)
	}
	o := Options{Cluster: fmt.Sprintf("pool-test-%d-%d", os.Getpid(), pools.Add(1)), Node: "n1", Warm: warm, Grace: timeout}
	var err error
	if o.Exe, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	if o.RunDir, err = os.MkdirTemp("", "pool"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(o.RunDir) })
	if o.Root, err = cgroup.OpenRoot(o.Cluster, o.Node); err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(&o)
	}
	p, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(o.RunDir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
	return p
}

// serve gives a job of the user's to a steward and waits until it is over.
func serve(t *testing.T, p *Pool, user uint32, script string) *Steward {
	t.Helper()
	return serveBy(t, p, user, false, script)
}

// serveFresh is serve with a steward that has had no job.
func serveFresh(t *testing.T, p *Pool, user uint32, script string) *Steward {
	t.Helper()
	return serveBy(t, p, user, true, script)
}

func serveBy(t *testing.T, p *Pool, user uint32, fresh bool, script string) *Steward {
	t.Helper()
	prepared, done := make(chan *agentpb.Prepared, 1), make(chan struct{})
	s, err := p.Claim(t.Context(), user, fresh, client.Events{
		Message: func(m *stewardpb.FromSteward) {
			switch {
			case m.GetPrepared() != nil:
				prepared <- m.GetPrepared()
			case m.GetNodeDone() != nil:
				close(done)
			}
		},
		Closed: func(error) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	group, memory := s.Groups()
	if err := s.Prepare(&stewardpb.PrepareJob{
		Node: "n1", CpuIds: []uint32{0}, Cgroup: group, MemoryCgroup: memory,
		Files: mpidirs.Name(mpidirs.Prefix(p.options.Cluster, "n1", p.options.RunDir), 7),
		Job: &agentpb.Prepare{
			JobId: 7,
			// The pool is told who submits; the process may be anybody's here.
			User:   &scorev1.Identity{Uid: uint32(unix.Getuid()), Gid: uint32(unix.Getgid())},
			Places: []*scorev1.NodePlace{{Node: "n1", Ranks: []uint32{0}, Cpus: []uint32{0}}},
			Spec: &scorev1.JobSpec{
				Argv: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"},
				WorkDir: "/", Tasks: 1, Detached: true,
			},
		},
	}); err != nil {
		t.Fatal(err)
	}
	if m := <-prepared; m.GetExitCode() != 0 {
		t.Fatal(m)
	}
	if err := s.Launch(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
	case <-time.After(timeout):
		t.Fatal("the job does not end")
	}
	return s
}

func notReading() bool { return false }

func TestAStewardServesItsUserAgain(t *testing.T) {
	p := testPool(t, 1)
	first := serve(t, p, ann, "exit 0")
	pid := first.Pid()
	p.Retire(t.Context(), first, notReading)
	if p.Warm() != 1 {
		t.Fatalf("%d are warm, want the used one", p.Warm())
	}
	if err := first.Kill(); err == nil {
		t.Error("who had the steward can still give it orders")
	}
	again := serve(t, p, ann, "exit 0")
	if again.Pid() != pid {
		t.Error("ann has got another process")
	}
	p.Retire(t.Context(), again, notReading)
	other := serve(t, p, bob, "exit 0")
	if other.Pid() == pid {
		t.Error("bob has got ann's process")
	}
	p.Retire(t.Context(), other, notReading)
	fresh := serveFresh(t, p, ann, "exit 0")
	if fresh.Pid() == pid || fresh.Pid() == other.Pid() {
		t.Error("asked for one that has had no job, got one that has")
	}
	p.Retire(t.Context(), fresh, notReading)
}

func TestUsageAndLimitsOfTheLastJobAreGone(t *testing.T) {
	p := testPool(t, 1)
	first := serve(t, p, ann, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
	if used, err := first.CPUTime(); err != nil || used <= 0 {
		t.Errorf("the first job used %v (%v)", used, err)
	}
	limited := first.LimitMemory(64<<20) == nil
	if err := first.Container.Freeze(); err != nil {
		t.Fatal(err)
	}
	p.Retire(t.Context(), first, notReading)
	again, err := p.Claim(t.Context(), ann, false, client.Events{Closed: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	if used, err := again.CPUTime(); err != nil || used != 0 {
		t.Errorf("the second job has used %v (%v) before it began", used, err)
	}
	if again.memory != 64<<20 && limited {
		t.Errorf("the limit in force is not known: %d", again.memory)
	}
	if limited {
		if err := again.LimitMemory(0); err != nil || again.memory != 0 {
			t.Errorf("lifting the limit: %v", err)
		}
	}
	if again.Container.WaitFrozen(time.Now()) == nil {
		t.Error("the group is still stopped")
	}
	p.Retire(t.Context(), again, notReading)
}

func TestAJobThatFailedEndsItsSteward(t *testing.T) {
	p := testPool(t, 1)
	s := serve(t, p, ann, "kill -9 $$")
	p.Retire(t.Context(), s, notReading)
	if p.Warm() != 0 {
		t.Errorf("%d are warm", p.Warm())
	}
	select {
	case <-s.Exited():
	default:
		t.Error("the steward lives")
	}
	group, _ := s.Groups()
	if _, err := os.Stat(group); err == nil {
		t.Errorf("the group %s is left", group)
	}
}

func TestUsedStewardsAreBoundedAndTheOldestGoes(t *testing.T) {
	p := testPool(t, 1)
	var all []*Steward
	for user := range uint32(usedPerWarm + 1) {
		all = append(all, serve(t, p, ann+user, "exit 0"))
	}
	for _, s := range all {
		p.Retire(t.Context(), s, notReading)
	}
	if p.Warm() != usedPerWarm {
		t.Errorf("%d are warm, want %d", p.Warm(), usedPerWarm)
	}
	select {
	case <-all[0].Exited():
	default:
		t.Error("the one not used for longest lives")
	}
}

func TestUsedOnesDoNotCountAsWarmForOthers(t *testing.T) {
	p := testPool(t, 1)
	p.Retire(t.Context(), serve(t, p, ann, "exit 0"), notReading)
	number, _ := p.next(time.Now().Add(time.Hour))
	if number < 0 {
		t.Fatal("no steward would be started for other users")
	}
	p.free(number)
	p.working.Done()
}

func TestAUsedStewardThatDiesIsNotGivenOut(t *testing.T) {
	p := testPool(t, 1)
	s := serve(t, p, ann, "exit 0")
	p.Retire(t.Context(), s, notReading)
	s.KillProcess()
	again := serve(t, p, ann, "exit 0")
	if again.Pid() == s.Pid() {
		t.Error("a dead steward was given out")
	}
	p.Retire(t.Context(), again, notReading)
}

// TestAStewardThatWasJustKilledIsNotGivenOut: nobody has had the time to notice its end.
func TestAStewardThatWasJustKilledIsNotGivenOut(t *testing.T) {
	p := testPool(t, 1)
	for range 10 {
		s := serve(t, p, ann, "exit 0")
		p.Retire(t.Context(), s, notReading)
		if err := unix.Kill(s.Pid(), unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, s.Pid(), &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err != nil && !errors.Is(err, unix.ECHILD) {
			t.Fatal(err)
		}
		again := serve(t, p, ann, "exit 0")
		if again.Pid() == s.Pid() {
			t.Fatal("a dead steward was given out")
		}
		p.Retire(t.Context(), again, notReading)
	}
}

// A group that a dead agent has left and that stays busy is put aside, told of, and removed when
// that is possible.
func TestABusyGroupIsSweptLater(t *testing.T) {
	first := testPool(t, 0)
	group, err := first.options.Root.Create(0)
	if err != nil {
		t.Fatal(err)
	}
	defer group.Release()
	if group.MemoryDir() == "" {
		t.Skip("a group of cgroup v2 cannot be kept busy: its processes die")
	}
	leave := occupy(t, group.MemoryDir())
	p, orphans, err := Open(first.options)
	if err != nil || len(orphans) > 0 {
		t.Fatal(orphans, err)
	}
	if p.Problem() == "" || !p.used[0] {
		t.Errorf("trouble %q, slot in use: %v", p.Problem(), p.used[0])
	}
	if wait := p.retryStuck(); wait == 0 || p.Problem() == "" {
		t.Error("it counts as removed, and is still there")
	}
	leave()
	await.That(t, "no steward is stuck", func() bool { return p.retryStuck() == 0 })
	if p.Problem() != "" || p.used[0] {
		t.Errorf("trouble %q, slot in use: %v", p.Problem(), p.used[0])
	}
}

// The end of a refused orphan is known when nothing of it is left, also if that takes several
// attempts.
func TestARefusedOrphanIsGoneWhenNothingIsLeft(t *testing.T) {
	first := testPool(t, 0)
	serve(t, first, 1000, "exit 0").Leave()
	p, orphans, err := Open(first.options)
	if err != nil || len(orphans) != 1 {
		t.Fatal(orphans, err)
	}
	group := orphans[0].steward.group
	if group.MemoryDir() == "" {
		p.Refuse(t.Context(), orphans[0])
		t.Skip("a group of cgroup v2 cannot be kept busy: its processes die")
	}
	leave := occupy(t, group.MemoryDir())
	left := make(chan string)
	go func() {
		p.Refuse(t.Context(), orphans[0])
		left <- p.Problem()
	}()
	await.That(t, "the problem is reported", func() bool { return p.Problem() != "" })
	leave()
	await.That(t, "no steward is stuck", func() bool { return p.retryStuck() == 0 })
	if problem := <-left; problem != "" {
		t.Errorf("it counts as gone: %s", problem)
	}
}

// occupy keeps a memory group busy with a thread of this process, which no sweep kills, until leave
// is called.
func occupy(t *testing.T, dir string) (leave func()) {
	t.Helper()
	entered, left, over := make(chan error), make(chan struct{}), make(chan struct{})
	go onOwnThread(func() {
		entered <- os.WriteFile(filepath.Join(dir, "tasks"), []byte("0"), 0)
		<-left
	}, over)
	if err := <-entered; err != nil {
		t.Fatal(err)
	}
	return func() { close(left); <-over }
}

// onOwnThread runs f on a thread that ends with it, and closes over then. That is not the first one
// of a process, which Go parks instead.
func onOwnThread(f func(), over chan<- struct{}) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		defer close(over)
		f()
		return
	}
	done := make(chan struct{})
	go onOwnThread(f, done) // on another thread, as this goroutine keeps the first
	<-done
	close(over)
	runtime.UnlockOSThread()
}
