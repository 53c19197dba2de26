package nodeagent_test

import (
	"errors"
	"os"
	"path/filepath"
	"score/nodeagent"
	"score/nodeagent/leadertest"
	"score/nodeagent/uplink"
	"score/scored/api/agentpb"
	"score/tests/processes"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// modes are the two ways in which a node stops its jobs.
var modes = []struct {
	name   string
	change func(*nodeagent.Options)
}{
	{"cgroups", func(*nodeagent.Options) {}},
	{"signals", signalsOnly},
}

// inBothModes runs a test with an agent that is connected and knows the time.
func inBothModes(t *testing.T, test func(t *testing.T, n *node, s *leadertest.Session)) {
	t.Helper()
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			leader := startLeader(t)
			n := startNode(t, leader, mode.change)
			s := leader.Next(t)
			clocked(t, s)
			test(t, n, s)
		})
	}
}

func TestJobRunsAndEnds(t *testing.T) {
	inBothModes(t, func(t *testing.T, n *node, s *leadertest.Session) {
		mustPrepare(t, s, n.order(7, "sh", "-c", "exit 3"))
		before := clusterNow()
		s.Send(planMessage(1, 1, time.Second, []uint64{7}))
		l := launched(t, s, 7)
		// The clock is read over a network, which a busy machine makes slow.
		const slack = int64(time.Second)
		if len(l.GetPids()) != 1 || l.GetAtNanos() < before-slack || l.GetAtNanos() > clusterNow()+slack {
			t.Errorf("launched: %v", l)
		}
		end, exits := done(t, s, 7)
		if len(exits) != 1 || exits[0].GetExitCode() != 3 || exits[0].GetByUs() {
			t.Errorf("exits: %v", exits)
		}
		if end.GetUsage().GetRunNanos() <= 0 {
			t.Errorf("usage: %v", end.GetUsage())
		}
		s.Send(forgetMessage(7))
	})
}

// spinner prepares and launches a rank that computes without end.
func spinner(t testing.TB, n *node, s *leadertest.Session, job uint64, cpu uint32) (spans string) {
	t.Helper()
	spans = filepath.Join(t.TempDir(), "spans")
	order := n.order(job, n.options.StewardExe, "spin", spans)
	order.Places[0].Cpus = []uint32{cpu}
	mustPrepare(t, s, order)
	return spans
}

func TestKillOfAFrozenJob(t *testing.T) {
	inBothModes(t, func(t *testing.T, n *node, s *leadertest.Session) {
		spinner(t, n, s, 1, 0)
		s.Send(planMessage(1, 1, time.Second, []uint64{1}))
		launched(t, s, 1)
		s.Send(planMessage(1, 2, time.Second)) // nothing may run any more
		frozen(t, s, 1)
		s.Send(killMessage(1))
		_, exits := done(t, s, 1)
		if len(exits) != 1 || !exits[0].GetByUs() || exits[0].GetSignal() != int32(unix.SIGKILL) {
			t.Errorf("exits: %v", exits)
		}
		s.Send(killMessage(1)) // again: it is still done
		done(t, s, 1)
		s.Send(forgetMessage(1))
		s.Send(killMessage(99)) // what is not here is done, too
		done(t, s, 99)
	})
}

// A steward that can do nothing, as while a rank is frozen that it is forking,
// does not hold a kill back.
func TestKillWithoutTheSteward(t *testing.T) {
	inBothModes(t, func(t *testing.T, n *node, s *leadertest.Session) {
		l := mustRun(t, s, n.order(1, "sleep", "1000"))
		rank := int(l.GetPids()[0])
		steward := parentOf(t, rank)
		if err := processes.Stop(steward); err != nil {
			t.Fatal(err)
		}
		s.Send(killMessage(1))
		if err := processes.AwaitEnd(rank); err != nil {
			t.Error(err)
		}
		if err := unix.Kill(steward, unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		done(t, s, 1)
		s.Send(forgetMessage(1))
	})
}

// frozen waits until the job's rank stands still.
func frozen(t testing.TB, s *leadertest.Session, job uint64) {
	t.Helper()
	for request := uint64(1); ; request++ {
		states := rankStates(t, s, job, request)
		if len(states.GetRanks()) == 1 && states.GetRanks()[0].GetState() == "frozen" {
			if states.GetGangOn() {
				t.Error("frozen, and its gang is on")
			}
			return
		}
	}
}

func rankStates(t testing.TB, s *leadertest.Session, job, request uint64) *agentpb.RankStatesReply {
	t.Helper()
	s.Send(&agentpb.ServerMessage{Message: &agentpb.ServerMessage_AskRankStates{
		AskRankStates: &agentpb.AskRankStates{Request: request, JobId: job},
	}})
	return s.Until(t, "rank states", func(m *agentpb.AgentMessage) bool {
		return m.GetRankStates().GetRequest() == request
	}).GetRankStates()
}

func TestKillOfAPreparedJob(t *testing.T) {
	inBothModes(t, func(t *testing.T, n *node, s *leadertest.Session) {
		s.Send(prepareMessage(n.order(1, "true")))
		s.Send(killMessage(1)) // most likely before it is prepared
		done(t, s, 1)
		s.Send(forgetMessage(1))
		mustPrepare(t, s, n.order(2, "true"))
		s.Send(killMessage(2))
		done(t, s, 2)
		s.Send(forgetMessage(2))
	})
}

func TestWhatCannotStartSaysWhy(t *testing.T) {
	leader := startLeader(t)
	n := startNode(t, leader)
	s := leader.Next(t)
	for i, test := range []struct {
		name   string
		change func(*agentpb.Prepare)
		code   int32
		says   string
	}{
		{"program not found", func(p *agentpb.Prepare) { p.Spec.Argv = []string{"no-such-program"} }, 127, "no-such-program"},
		{"not executable", func(p *agentpb.Prepare) { p.Spec.Argv = []string{"/etc/passwd"} }, 126, "/etc/passwd"},
		{"no directory", func(p *agentpb.Prepare) { p.Spec.WorkDir = "/no/such/dir" }, 126, "/no/such/dir"},
		{"CPU beyond", func(p *agentpb.Prepare) { p.Places[0].Cpus = []uint32{60000} }, 125, "CPU 60000"},
		{"memory too small", func(p *agentpb.Prepare) { p.MemoryLimitBytes = 1000 }, 125, "1000 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			job := uint64(i + 1)
			order := n.order(job, "true")
			test.change(order)
			s.Send(prepareMessage(order))
			p := prepared(t, s, job)
			if p.GetExitCode() != test.code || !strings.Contains(p.GetError(), test.says) || !strings.Contains(p.GetError(), "n1") {
				t.Errorf("prepared: %v", p)
			}
			s.Send(killMessage(job)) // the leader may ask for its end
			done(t, s, job)
			s.Send(forgetMessage(job))
		})
	}
}

func TestSameNumberAgain(t *testing.T) {
	inBothModes(t, func(t *testing.T, n *node, s *leadertest.Session) {
		// As when a job is put back into the queue because another node was lost.
		for version := range uint64(3) {
			mustPrepare(t, s, n.order(5, "true"))
			s.Send(killMessage(5))
			s.Send(forgetMessage(5))
			_ = version
		}
		mustPrepare(t, s, n.order(5, "true"))
		s.Send(planMessage(1, 1, time.Second, []uint64{5}))
		launched(t, s, 5)
		s.Send(forgetMessage(5))
	})
}

func TestLostStewardEndsItsJob(t *testing.T) {
	inBothModes(t, func(t *testing.T, n *node, s *leadertest.Session) {
		// A rank whose child has left its process group.
		l := mustRun(t, s, n.order(1, "sh", "-c", "setsid sleep 1000 & exec sleep 1000"))
		steward := parentOf(t, int(l.GetPids()[0]))
		if err := unix.Kill(steward, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		abort := s.Until(t, "abort", func(m *agentpb.AgentMessage) bool { return m.GetAbort() != nil }).GetAbort()
		if abort.GetJobId() != 1 || abort.GetRank() != -1 || abort.GetExitCode() != 125 || !strings.Contains(abort.GetMessage(), "steward") {
			t.Errorf("abort: %v", abort)
		}
		done(t, s, 1)
		if left := processesOf(n.options.RunDir); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
		s.Send(forgetMessage(1))
	})
}

func parentOf(t testing.TB, pid int) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "PPid:"); ok {
			return atoi(t, strings.TrimSpace(rest))
		}
	}
	t.Fatal("no parent")
	return 0
}

func TestEndOfTheAgentLeavesNothing(t *testing.T) {
	inBothModes(t, func(t *testing.T, n *node, s *leadertest.Session) {
		mustPrepare(t, s, n.order(1, "sh", "-c", "setsid sleep 1000 & exec sleep 1000"))
		spinner(t, n, s, 2, 0)
		mustPrepare(t, s, n.order(3, "sleep", "1000"))
		s.Send(planMessage(1, 1, time.Second, []uint64{1, 2}))
		launched(t, s, 1)
		launched(t, s, 2)
		s.Send(planMessage(1, 2, time.Second, []uint64{1}))
		frozen(t, s, 2)
		s.Send(prepareMessage(n.order(4, "true"))) // may be under way
		n.stop()
	})
}

func TestDuplicateIsRefused(t *testing.T) {
	const sentence = "a node named n1 is connected already; give this one another name"
	leader := leadertest.Start(t, leadertest.Options{Key: testKey, Refuse: func(*agentpb.Hello) string { return sentence }})
	n := startNode(t, leader)
	err := n.wait()
	if !errors.Is(err, uplink.ErrRefused) || !strings.Contains(err.Error(), sentence) {
		t.Errorf("Run = %v", err)
	}
	n.nothingLeft()
}

func TestSecondAgentOnARunDirectory(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	leader := startLeader(t)
	n := startNode(t, leader)
	leader.Next(t)
	agent, err := nodeagent.New(n.options)
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "another agent") {
		t.Errorf("Run = %v", err)
	}
}

func TestAddressInUse(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	leader := startLeader(t)
	first := startNode(t, leader)
	s := leader.Next(t)
	second := startNode(t, leader, func(o *nodeagent.Options) { o.Name, o.Listen = "n2", s.Hello.GetAddress() })
	if err := second.wait(); err == nil || !strings.Contains(err.Error(), "listen") {
		t.Errorf("Run = %v", err)
	}
	second.nothingLeft()
	_ = first
}
