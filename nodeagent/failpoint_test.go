package nodeagent_test

import (
	"score/scored/api/agentpb"
	"score/scored/failpoint"
	"strings"
	"testing"
	"time"
)

// fail sets failpoints until the test ends.
func fail(t *testing.T, list string) {
	t.Helper()
	t.Setenv(failpoint.Variable, list)
	disarm, err := failpoint.FromEnvironment("n1", func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(disarm)
}

// A job that cannot be launched does not wait for ever: it is ended, with a reason.
func TestFailedLaunchEndsTheJob(t *testing.T) {
	leader := startLeader(t)
	n := startNode(t, leader)
	s := leader.Next(t)
	clocked(t, s)
	fail(t, "launch.begin=error")
	mustPrepare(t, s, n.order(1, "sleep", "1000"))
	s.Send(planMessage(1, 1, time.Second, []uint64{1}))
	abort := s.Until(t, "abort", func(m *agentpb.AgentMessage) bool { return m.GetAbort() != nil }).GetAbort()
	if abort.GetJobId() != 1 || abort.GetExitCode() != 125 || !strings.Contains(abort.GetMessage(), "submit the job again") {
		t.Errorf("abort: %v", abort)
	}
	done(t, s, 1)
	s.Send(forgetMessage(1))
}
