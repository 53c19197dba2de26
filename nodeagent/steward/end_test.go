package steward_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api"
	"score/scored/api/scorev1"
	"score/tests/processes"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// bothWays runs a test with a control group and with signals only.
func bothWays(t *testing.T, f func(t *testing.T, options ...option)) {
	t.Run("cgroup", func(t *testing.T) { f(t, withCgroup) })
	t.Run("signals", func(t *testing.T) { f(t) })
}

func TestExitCodes(t *testing.T) {
	a := start(t)
	a.run(4, sh("exit $SCORE_RANK"))
	exits := a.exits()
	for rank := range uint32(4) {
		e := exits[rank]
		if e.GetExitCode() != int32(rank) || e.GetSignal() != 0 || e.GetJobId() != testJob {
			t.Errorf("rank %d: %v", rank, e)
		}
		if e.GetAtNanos() == 0 {
			t.Errorf("rank %d has no time: %v", rank, e)
		}
	}
	if u := a.done().GetUsage(); u.GetCpuNanos() == 0 {
		t.Errorf("usage: %v", u)
	}
}

// The memory of a rank is known if it is more than the steward's, which this process is.
func TestUsageHasTheMemoryOfTheLargestRank(t *testing.T) {
	const size = 400 << 20
	a := start(t)
	a.run(2, sh(fmt.Sprintf("[ $SCORE_RANK = 0 ] || dd if=/dev/zero of=/dev/null bs=%d count=1 2>/dev/null", size)))
	exits := a.exits()
	if small, large := exits[0].GetMaxRssBytes(), exits[1].GetMaxRssBytes(); small != 0 || large < size {
		t.Errorf("memory of a shell: %d, of a rank of %d bytes: %d", small, size, large)
	}
	if u := a.done().GetUsage(); u.GetMaxRssBytes() != exits[1].GetMaxRssBytes() {
		t.Errorf("usage: %v", u)
	}
}

func TestOneRanksBadExitLeavesTheOthers(t *testing.T) {
	a := start(t)
	fifo := makeFIFO(t)
	a.run(2, sh(`[ $SCORE_RANK = 0 ] && exit 3; read line <`+fifo.path+`; exit 0`))
	if e := a.exit(0); e.GetRank() != 0 || e.GetExitCode() != 3 {
		t.Fatalf("first exit: %v", e)
	}
	fifo.write(t, "go on\n")
	if e := a.exits()[1]; e.GetExitCode() != 0 || e.GetSignal() != 0 {
		t.Errorf("rank 1: %v", e)
	}
}

func TestKillOnBadExit(t *testing.T) {
	a := start(t)
	a.run(2, sh(`[ $SCORE_RANK = 0 ] && exit 3; exec sleep 1000`),
		withSpec(func(s *scorev1.JobSpec) { s.KillOnBadExit = true }))
	if e := a.exits()[1]; e.GetSignal() != int32(unix.SIGKILL) || !e.GetByUs() {
		t.Errorf("rank 1: %v", e)
	}
}

func TestDeathBySignalEndsTheGang(t *testing.T) {
	bothWays(t, func(t *testing.T, options ...option) {
		a := start(t, options...)
		a.run(3, sh(`ulimit -c 0; [ $SCORE_RANK = 1 ] && kill -SEGV $$; exec sleep 1000`))
		exits := a.exits()
		if e := exits[1]; e.GetSignal() != int32(unix.SIGSEGV) || e.GetByUs() {
			t.Errorf("rank 1: %v", e)
		}
		for _, rank := range []uint32{0, 2} {
			if e := exits[rank]; e.GetSignal() != int32(unix.SIGKILL) || !e.GetByUs() {
				t.Errorf("rank %d: %v", rank, e)
			}
		}
	})
}

func TestKill(t *testing.T) {
	bothWays(t, func(t *testing.T, options ...option) {
		a := start(t, options...)
		a.run(8, sh("trap '' TERM INT HUP; while :; do sleep 1000; done"))
		a.launched()
		a.do(a.conn.Kill())
		for rank, e := range a.exits() {
			if e.GetSignal() != int32(unix.SIGKILL) || !e.GetByUs() {
				t.Errorf("rank %d: %v", rank, e)
			}
		}
	})
}

func TestKillWhileFrozen(t *testing.T) {
	t.Run("cgroup", func(t *testing.T) {
		a := start(t, withCgroup)
		a.run(2, []string{"sleep", "1000"})
		a.launched()
		if err := a.group.Freeze(); err != nil {
			t.Fatal(err)
		}
		if err := a.group.WaitFrozen(time.Now().Add(timeout)); err != nil {
			t.Fatal(err)
		}
		a.do(a.conn.AskRankStates(5))
		states := await(a, "states", 0, (*stewardpb.FromSteward).GetRankStates)
		if states.GetRequest() != 5 || len(states.GetRanks()) != 2 || states.GetRanks()[0].GetState() != "frozen" {
			t.Errorf("states: %v", states)
		}
		a.do(a.conn.Kill())
		a.exits()
	})
	t.Run("signals", func(t *testing.T) {
		a := start(t)
		a.run(2, []string{"sleep", "1000"})
		for _, pid := range a.launched().GetPids() {
			if err := unix.Kill(-int(pid), unix.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		}
		a.do(a.conn.Kill())
		a.exits()
	})
}

func TestKillBeforeLaunch(t *testing.T) {
	a := start(t)
	a.ready(a.order(4, []string{"/bin/true"}))
	a.do(a.conn.Kill())
	a.done()
	a.do(a.conn.Launch()) // comes too late
	a.do(a.conn.Forget())
	a.left()
	for _, m := range a.all() {
		if m.GetLaunched() != nil || m.GetRankExited() != nil {
			t.Errorf("a rank was started: %v", m)
		}
	}
}

// A reader that waits for output when the job is ended before its ranks start is
// told that there will be none, or nobody would ever forget the job.
func TestKillBeforeLaunchWithAReader(t *testing.T) {
	a := start(t)
	a.ready(a.order(4, []string{"/bin/true"}))
	reader := a.stdio()
	a.do(a.conn.Kill())
	a.done()
	if out := readAll(t, reader); len(out) != 0 {
		t.Errorf("output of ranks that never ran: %v", out)
	}
	a.do(a.conn.Forget())
	a.left()
}

func TestSignals(t *testing.T) {
	a := start(t)
	fifo := makeFIFO(t)
	// The child is in the rank's process group and gets the signal as well.
	a.run(1, sh(`trap 'exit 42' USR1; sh -c 'trap "exit 0" USR1; echo up >`+fifo.path+`; while :; do sleep 0.01; done' & wait; wait; exit 1`))
	fifo.read(t)
	a.do(a.conn.Signal(int32(unix.SIGUSR1)))
	if e := a.exits()[0]; e.GetExitCode() != 42 {
		t.Errorf("rank 0: %v", e)
	}
}

func TestARankThatDiesOfTheLastSignalDoesNotEndTheOthers(t *testing.T) {
	a := start(t)
	fifo, pid := makeFIFO(t), filepath.Join(t.TempDir(), "pid")
	if err := unix.Mkfifo(pid, 0o600); err != nil {
		t.Fatal(err)
	}
	// Rank 0 ends only when rank 1 is dead.
	a.run(2, sh(`if [ $PMI_RANK = 1 ]; then echo $$ >`+pid+`; exec sleep 1000; fi
read other <`+pid+`; trap 'while kill -0 $other; do sleep 0.01; done 2>/dev/null; exit 7' TERM
echo up >`+fifo.path+`; while :; do sleep 0.01; done`))
	fifo.read(t)
	a.do(a.conn.Ending())
	a.do(a.conn.Signal(int32(unix.SIGTERM)))
	exits := a.exits()
	if e := exits[0]; e.GetExitCode() != 7 {
		t.Errorf("rank 0: %v", e)
	}
	if e := exits[1]; e.GetSignal() != int32(unix.SIGTERM) {
		t.Errorf("rank 1: %v", e)
	}
}

func TestASignalBeforeTheRanksIsKept(t *testing.T) {
	for _, sig := range []int32{1, int32(unix.SIGTERM), api.MaxSignal} {
		t.Run(fmt.Sprint(sig), func(t *testing.T) { keepsSignal(t, sig) })
	}
}

func keepsSignal(t *testing.T, sig int32) {
	a := start(t)
	a.ready(a.order(2, []string{"sleep", "1000"}))
	a.do(a.conn.Signal(sig))
	a.do(a.conn.Signal(-1)) // no signal
	a.do(a.conn.Signal(api.MaxSignal + 1))
	a.do(a.conn.Launch())
	for rank, e := range a.exits() {
		if e.GetSignal() != sig && !e.GetByUs() {
			t.Errorf("rank %d: %v", rank, e)
		}
	}
}

func TestGrandchildrenDoNotOutliveTheJob(t *testing.T) {
	bothWays(t, func(t *testing.T, options ...option) {
		a := start(t, options...)
		fifo, second := makeFIFO(t), makeFIFO(t)
		// A daemon: in a session of its own, its parent gone.
		a.run(1, sh(`setsid sh -c 'echo $$ >`+fifo.path+`; exec sleep 1000' & read go <`+second.path+`; exit 0`))
		pid, err := strconv.Atoi(strings.TrimSpace(fifo.read(t)))
		if err != nil {
			t.Fatal(err)
		}
		second.write(t, "end\n")
		a.done()
		if alive(pid) {
			t.Errorf("process %d outlived its job", pid)
		}
	})
}

func TestStewardKilled(t *testing.T) {
	a := start(t)
	a.run(2, []string{"sleep", "1000"})
	pids := a.launched().GetPids()
	a.process.Kill()
	for _, pid := range pids {
		if err := processes.AwaitEnd(int(pid)); err != nil {
			t.Error(err)
		}
	}
}

func TestNoOtherAgentComes(t *testing.T) {
	bothWays(t, func(t *testing.T, options ...option) {
		a := start(t, append(options, withGrace(0))...)
		a.run(2, []string{"sleep", "1000"})
		pids := a.launched().GetPids()
		a.conn.Close()
		a.left()
		for _, pid := range pids {
			if alive(int(pid)) {
				t.Errorf("process %d lives on", pid)
			}
		}
		if a.group == nil {
			return
		}
		if _, err := os.Stat(filepath.Dir(a.group.Dir())); err == nil {
			t.Error("the control group of the node is left")
		}
	})
}

func TestAnotherAgentComes(t *testing.T) {
	a := start(t, withGrace(timeout))
	fifo := makeFIFO(t)
	a.run(2, sh(`[ $SCORE_RANK = 0 ] && exit 5; read line <`+fifo.path+`; exit 6`))
	a.exit(0)
	pids := a.launched().GetPids()
	a.conn.Close()
	a.dial()
	s := a.status
	if s.GetJobId() != testJob || !s.GetPrepared() || !s.GetLaunched() || s.GetDone() {
		t.Errorf("status: %v", s)
	}
	if fmt.Sprint(s.GetPids()) != fmt.Sprint(pids) {
		t.Errorf("pids %v, want %v", s.GetPids(), pids)
	}
	if len(s.GetExits()) != 1 || s.GetExits()[0].GetExitCode() != 5 {
		t.Errorf("exits: %v", s.GetExits())
	}
	fifo.write(t, "end\n")
	if e := a.exit(0); e.GetRank() != 0 || e.GetExitCode() != 5 {
		t.Errorf("exit, told again: %v", e)
	}
	if e := a.exit(1); e.GetRank() != 1 || e.GetExitCode() != 6 {
		t.Errorf("exit: %v", e)
	}
	a.done()
	a.dial() // without closing the old connection: the newest wins
	if !a.status.GetDone() || len(a.status.GetExits()) != 2 {
		t.Errorf("status: %v", a.status)
	}
	a.done()
}

func TestForgottenStewardLeaves(t *testing.T) {
	a := start(t)
	a.run(1, []string{"/bin/echo", "hello"})
	s := a.stdio()
	a.done()
	a.do(a.conn.Forget())
	if out := readAll(t, s)[stream{0, 1}]; out != "hello\n" {
		t.Errorf("output %q", out)
	}
	a.left()
}

func TestForgottenWhileFree(t *testing.T) {
	a := start(t)
	a.do(a.conn.Forget())
	a.left()
}

func TestRankStates(t *testing.T) {
	a := start(t)
	a.ready(a.order(2, sh("[ $SCORE_RANK = 0 ] && exit 4; exec sleep 1000")))
	ask := func(n uint64) []*scorev1.RankState {
		a.do(a.conn.AskRankStates(n))
		return await(a, "states", int(n), (*stewardpb.FromSteward).GetRankStates).GetRanks()
	}
	if s := ask(0); s[0].GetState() != "prepared" || s[0].GetNode() != testNode {
		t.Errorf("before launch: %v", s)
	}
	a.do(a.conn.Launch())
	a.launched()
	a.exit(0)
	s := ask(1)
	if s[0].GetState() != "exited" || s[0].GetExitCode() != 4 || s[1].GetState() != "running" || s[1].GetPid() == 0 {
		t.Errorf("while one runs: %v", s)
	}
	a.do(a.conn.Kill())
	a.done()
	if s := ask(2); s[1].GetState() != "killed" || s[1].GetSignal() != int32(unix.SIGKILL) {
		t.Errorf("after the kill: %v", s)
	}
}

func TestMemoryLimit(t *testing.T) {
	a := start(t, withCgroup)
	if err := a.group.LimitMemory(64 << 20); err != nil {
		t.Skipf("no memory limit here: %v", err)
	}
	a.run(2, sh(`[ $SCORE_RANK = 0 ] && exec sleep 1000; x=0123456789abcdef; while :; do x=$x$x; done`))
	exits := a.exits()
	if e := exits[1]; e.GetSignal() != int32(unix.SIGKILL) || !e.GetOutOfMemory() || e.GetByUs() {
		t.Errorf("rank 1: %v", e)
	}
	closeGroup(t, a)
}

// The kernel kills the command of a shell, which says so by its exit code.
func TestMemoryLimitOfAShellsCommand(t *testing.T) {
	a := start(t, withCgroup)
	if err := a.group.LimitMemory(64 << 20); err != nil {
		t.Skipf("no memory limit here: %v", err)
	}
	a.run(2, sh(`[ $SCORE_RANK = 0 ] && exec sleep 1000; (x=0123456789abcdef; while :; do x=$x$x; done); exit $?`))
	exits := a.exits()
	if e := exits[1]; e.GetExitCode() != 137 || !e.GetOutOfMemory() || e.GetByUs() {
		t.Errorf("rank 1: %v", e)
	}
	closeGroup(t, a)
}

func closeGroup(t *testing.T, a *agent) {
	t.Helper()
	// The forking thread has left the group, so that it can be removed.
	if err := a.group.Close(time.Now().Add(timeout)); err != nil {
		t.Errorf("removing the group: %v", err)
	}
}

// fifo is a named pipe between a test and a rank. The test keeps it open both
// ways, so that neither side waits for the other to open it.
type fifo struct {
	path string
	file *os.File
}

func makeFIFO(t *testing.T) fifo {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	if err := file.SetDeadline(time.Now().Add(timeout)); err != nil {
		t.Fatal(err)
	}
	return fifo{path, file}
}

func (f fifo) write(t *testing.T, text string) {
	t.Helper()
	if _, err := f.file.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func (f fifo) read(t *testing.T) string {
	t.Helper()
	line, err := bufio.NewReader(f.file).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line
}
