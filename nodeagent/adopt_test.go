package nodeagent_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/nodeagent"
	"score/nodeagent/leadertest"
	"score/scored/api/agentpb"
	"score/tests/await"
	"score/tests/processes"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// mortal is a node whose agent is a process that can be killed.
type mortal struct {
	*node
	process *exec.Cmd
}

// startMortal starts an agent as a process of its own, whose stewards wait long for another.
func startMortal(t *testing.T, leader *leadertest.Leader, change ...func(*nodeagent.Options)) *mortal {
	t.Helper()
	m := &mortal{node: newNode(t, leader, append(change, func(o *nodeagent.Options) { o.Grace = timeout })...)}
	m.begin()
	t.Cleanup(func() {
		m.process.Process.Signal(unix.SIGTERM)
		m.process.Wait()
		m.nothingLeft()
	})
	return m
}

func (m *mortal) begin() {
	m.process = exec.Command(m.options.StewardExe, append([]string{"agent"}, m.arguments()...)...)
	m.process.Stderr = os.Stderr
	if err := m.process.Start(); err != nil {
		m.t.Fatal(err)
	}
}

// kill ends the agent by signal 9, and waits until its stream is gone.
func (m *mortal) kill(s *leadertest.Session) {
	m.process.Process.Kill()
	m.process.Wait()
	<-s.Gone()
}

// next starts another agent, and is its stream.
func (m *mortal) next() *leadertest.Session {
	m.t.Helper()
	m.begin()
	return m.leader.Next(m.t)
}

// crash kills the agent and starts another; it returns the new one's stream.
func (m *mortal) crash(s *leadertest.Session) *leadertest.Session {
	m.t.Helper()
	m.kill(s)
	return m.next()
}

// crashes runs a test in both modes with an agent that is connected and knows the time.
func crashes(t *testing.T, test func(t *testing.T, n *mortal, s *leadertest.Session)) {
	t.Helper()
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			leader := startLeader(t)
			n := startMortal(t, leader, mode.change)
			s := leader.Next(t)
			clocked(t, s)
			test(t, n, s)
		})
	}
}

// holds checks which jobs an agent says that it has.
func holds(t *testing.T, s *leadertest.Session, jobs ...uint64) {
	t.Helper()
	if fmt.Sprint(s.Hello.GetJobs()) != fmt.Sprint(jobs) {
		t.Errorf("Hello names jobs %v, want %v", s.Hello.GetJobs(), jobs)
	}
}

// waiter is a program that goes on until its file is there, and then ends with a code.
func (n *mortal) waiter(code int) (argv []string, release string) {
	release = filepath.Join(n.options.RunDir, "..", "release")
	return []string{"sh", "-c", fmt.Sprintf("while [ ! -e %s ]; do sleep 0.01; done; echo out; exit %d", release, code)}, release
}

func touch(t testing.TB, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestARunningJobOutlivesItsAgent(t *testing.T) {
	crashes(t, func(t *testing.T, n *mortal, s *leadertest.Session) {
		argv, release := n.waiter(7)
		pid := mustRun(t, s, n.order(1, argv...)).GetPids()[0]
		for range 3 {
			s = n.crash(s)
			holds(t, s, 1)
			prepared(t, s, 1)
			if l := launched(t, s, 1); l.GetPids()[0] != pid {
				t.Errorf("launched: %v, the rank was %d", l, pid)
			}
			s.Send(prepareMessage(n.order(1, argv...))) // as a leader does who is not sure
		}
		s.Send(planMessage(1, 2, time.Second, []uint64{1}))
		touch(t, release)
		if _, exits := done(t, s, 1); len(exits) != 1 || exits[0].GetExitCode() != 7 {
			t.Errorf("exits: %v", exits)
		}
		if got := drain(t, attach(t, n.node, s, 1)); got != "out\n" {
			t.Errorf("output %q", got)
		}
		s.Send(forgetMessage(1))
	})
}

// An order that a steward has kept for a server of an older version has no key of the job's; the
// keys of such a job come from the cluster's, for its next agent, too.
func TestOrdersWithAndWithoutAKeyAreAdopted(t *testing.T) {
	for name, key := range map[string][]byte{"of an older version": nil, "of this version": []byte("the key of the job")} {
		t.Run(name, func(t *testing.T) {
			crashes(t, func(t *testing.T, n *mortal, s *leadertest.Session) {
				argv, release := n.waiter(7)
				argv[2] = `test -n "$SCORE_PM_SOCKET" || exit 8; ` + argv[2] // it can open channels
				order := n.order(1, argv...)
				order.Key = key
				pid := mustRun(t, s, order).GetPids()[0]
				s = n.crash(s)
				holds(t, s, 1)
				prepared(t, s, 1)
				if l := launched(t, s, 1); l.GetPids()[0] != pid {
					t.Errorf("launched: %v, the rank was %d", l, pid)
				}
				s.Send(planMessage(1, 2, time.Second, []uint64{1}))
				touch(t, release)
				if _, exits := done(t, s, 1); len(exits) != 1 || exits[0].GetExitCode() != 7 {
					t.Errorf("exits: %v", exits)
				}
				s.Send(forgetMessage(1))
			})
		})
	}
}

func TestAJobThatEndedWithoutAnAgentIsReported(t *testing.T) {
	crashes(t, func(t *testing.T, n *mortal, s *leadertest.Session) {
		argv, release := n.waiter(4)
		pid := int(mustRun(t, s, n.order(1, argv...)).GetPids()[0])
		n.kill(s)
		touch(t, release)
		awaitEnd(t, pid)
		s = n.next()
		holds(t, s, 1)
		if _, exits := done(t, s, 1); len(exits) != 1 || exits[0].GetExitCode() != 4 {
			t.Errorf("exits: %v", exits)
		}
		if got := drain(t, attach(t, n.node, s, 1)); got != "out\n" {
			t.Errorf("output %q", got)
		}
		s.Send(forgetMessage(1))
	})
}

// awaitEnd waits until a process is gone.
func awaitEnd(t testing.TB, pid int) {
	t.Helper()
	await.That(t, fmt.Sprintf("the end of process %d", pid), func() bool { return unix.Kill(pid, 0) != nil })
}

func TestAPreparedJobOutlivesItsAgent(t *testing.T) {
	crashes(t, func(t *testing.T, n *mortal, s *leadertest.Session) {
		mustPrepare(t, s, n.order(1, "sh", "-c", "exit 5"))
		s = n.crash(s)
		holds(t, s, 1)
		prepared(t, s, 1)
		clocked(t, s)
		s.Send(planMessage(1, 1, time.Second, []uint64{1}))
		launched(t, s, 1)
		if _, exits := done(t, s, 1); len(exits) != 1 || exits[0].GetExitCode() != 5 {
			t.Errorf("exits: %v", exits)
		}
		s.Send(forgetMessage(1))
	})
}

// Two jobs take turns; the agent dies in the midst of that, again and again, and its successor goes
// on with the next plan: neither job is left standing, nor left running in the other's slice.
func TestTimeSharingGoesOnWithTheNextAgent(t *testing.T) {
	crashes(t, func(t *testing.T, n *mortal, s *leadertest.Session) {
		var counts [2]string
		for i := range counts {
			counts[i] = filepath.Join(n.options.RunDir, "..", fmt.Sprintf("count%d", i))
			mustPrepare(t, s, n.order(uint64(i)+1, "sh", "-c",
				fmt.Sprintf("trap 'exit 3' TERM; while :; do echo >>%s; done", counts[i])))
		}
		s.Send(planMessage(1, 1, 10*time.Millisecond, []uint64{1}, []uint64{2}))
		launched(t, s, 1)
		launched(t, s, 2)
		for round := range 5 {
			s = n.crash(s)
			holds(t, s, 1, 2)
			clocked(t, s)
			s.Send(planMessage(1, uint64(round)+2, 10*time.Millisecond, []uint64{1}, []uint64{2}))
			for _, path := range counts {
				grows(t, path)
			}
		}
		// Only one is on from here on; the other stands still.
		s.Send(planMessage(1, 100, time.Hour, []uint64{2}))
		standsStill(t, counts[0])
		grows(t, counts[1])
		s = n.crash(s)
		standsStill(t, counts[0]) // without any plan, too
		clocked(t, s)
		s.Send(planMessage(1, 101, time.Hour, []uint64{1}))
		grows(t, counts[0])
		standsStill(t, counts[1])
		for job := range uint64(2) {
			s.Send(killMessage(job + 1))
			done(t, s, job+1)
			s.Send(forgetMessage(job + 1))
		}
	})
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func grows(t testing.TB, path string) {
	t.Helper()
	from := size(path)
	await.That(t, path+" grows: its writer runs", func() bool { return size(path) != from })
}

// standsStill waits until a file does not grow for some slices.
func standsStill(t testing.TB, path string) {
	t.Helper()
	const quiet = 100 * time.Millisecond
	for limit := time.Now().Add(timeout); ; {
		from := size(path)
		time.Sleep(quiet) // that nothing happens takes time to see
		if size(path) == from {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%s goes on growing: its writer does not stand still", path)
		}
	}
}

// Output is written all the time while agents come and go. It comes to a reader that knows
// what it has, each byte once.
func TestOutputIsCompleteOverAgents(t *testing.T) {
	crashes(t, func(t *testing.T, n *mortal, s *leadertest.Session) {
		const lines = 400_000
		mustRun(t, s, n.order(1, "seq", itoa(lines)))
		var got bytes.Buffer
		reader := attach(t, n.node, s, 1)
		for crash := 1; ; {
			m, err := reader.Receive()
			if err != nil {
				reader = attachFrom(t, n.node, s, 1, reader.has)
				continue
			}
			if m.GetDrained() {
				break
			}
			if m.GetOutput().GetStream() == 1 {
				got.Write(m.GetOutput().GetData())
			}
			if got.Len() > crash*500_000 && crash < 4 {
				crash++
				s = n.crash(s)
			}
		}
		var want bytes.Buffer
		for i := 1; i <= lines; i++ {
			fmt.Fprintln(&want, i)
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%d bytes, want %d; the same only up to byte %d", got.Len(), want.Len(), agreeing(got.Bytes(), want.Bytes()))
		}
		done(t, s, 1)
		s.Send(forgetMessage(1))
	})
}

func agreeing(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// What the leader does not keep ends, and what the ranks had started with it.
func TestAJobThatTheLeaderForgotEndsAfterTheRestart(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			var forgets atomic.Bool
			leader := leadertest.Start(t, leadertest.Options{Now: clusterNow, Key: testKey, Keep: func(h *agentpb.Hello) []uint64 {
				if forgets.Load() {
					return nil
				}
				return h.GetJobs()
			}})
			n := startMortal(t, leader, mode.change)
			s := leader.Next(t)
			clocked(t, s)
			mustRun(t, s, n.order(1, "sh", "-c", "setsid sleep 1000 & exec sleep 1000"))
			forgets.Store(true)
			s = n.crash(s)
			holds(t, s, 1)
			n.gone()
		})
	}
}

// A steward that was killed beside its agent leaves nothing.
func TestAgentAndStewardDieTogether(t *testing.T) {
	leader := startLeader(t)
	n := startMortal(t, leader)
	s := leader.Next(t)
	clocked(t, s)
	steward := parentOf(t, int(mustRun(t, s, n.order(1, "sh", "-c", "setsid sleep 1000 & exec sleep 1000")).GetPids()[0]))
	n.kill(s)
	if err := unix.Kill(steward, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	holds(t, n.next())
	n.gone()
}

// No agent may come after one that leaves, so it leaves no slot whose steward has died, though the
// leader has not forgotten the job.
func TestAnAgentThatLeavesRemovesTheSlotOfALostSteward(t *testing.T) {
	leader := startLeader(t)
	n := newNode(t, leader)
	agent, err := nodeagent.New(n.options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { n.result <- agent.Run(ctx) }()
	s := leader.Next(t)
	clocked(t, s)
	steward := parentOf(t, int(mustRun(t, s, n.order(1, "sleep", "1000")).GetPids()[0]))
	if err := unix.Kill(steward, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	done(t, s, 1)
	cancel(nodeagent.ErrLeave)
	if err := n.wait(); err != nil {
		t.Error(err)
	}
	if left := n.groups(); len(left) > 0 {
		t.Errorf("control groups are left: %v", left)
	}
}

// A steward that is stopped costs its own job. The next agent starts, and other jobs go on.
func TestAStoppedStewardDoesNotKeepTheAgentFromStarting(t *testing.T) {
	crashes(t, func(t *testing.T, n *mortal, s *leadertest.Session) {
		argv, release := n.waiter(7)
		mustPrepare(t, s, n.order(1, "sleep", "1000"))
		mustPrepare(t, s, n.order(2, argv...))
		s.Send(planMessage(1, 1, 10*time.Millisecond, []uint64{1}, []uint64{2}))
		steward := parentOf(t, int(launched(t, s, 1).GetPids()[0]))
		launched(t, s, 2)
		n.kill(s)
		if err := processes.Stop(steward); err != nil {
			t.Fatal(err)
		}
		s = n.next()
		awaitEnd(t, steward)
		holds(t, s, 2)
		clocked(t, s)
		s.Send(planMessage(1, 2, 10*time.Millisecond, []uint64{2}))
		touch(t, release)
		if _, exits := done(t, s, 2); len(exits) != 1 || exits[0].GetExitCode() != 7 {
			t.Errorf("exits: %v", exits)
		}
		s.Send(forgetMessage(2))
		n.gone()
	})
}

// A steward is lost after its job was taken over: the agent ends what is left and says so.
func TestTheStewardOfAnAdoptedJobIsLost(t *testing.T) {
	crashes(t, func(t *testing.T, n *mortal, s *leadertest.Session) {
		steward := parentOf(t, int(mustRun(t, s, n.order(1, "sh", "-c", "setsid sleep 1000 & exec sleep 1000")).GetPids()[0]))
		s = n.crash(s)
		if err := unix.Kill(steward, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		abort := s.Until(t, "Abort", func(m *agentpb.AgentMessage) bool { return m.GetAbort() != nil }).GetAbort()
		if !strings.Contains(abort.GetMessage(), "steward") {
			t.Errorf("abort: %v", abort)
		}
		done(t, s, 1)
		s.Send(forgetMessage(1))
		n.gone()
	})
}
