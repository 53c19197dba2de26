package nodeagent_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"score/nodeagent/leadertest"
	"score/nodeagent/mpidirs"
	"score/scored/api/scorev1"
)

// mpiOrder is a job that is offered PMIx, whose rank leaves a file in the directory for
// shared memory, says so in the job's own, and goes on.
func (n *node) mpiOrder(job uint64) *scorev1.Prepare {
	order := n.order(job, "/bin/sh", "-c",
		`: > "$OMPI_MCA_btl_vader_backing_directory/segment" && : > "$SCORE_JOB_DIR/made" && exec sleep 1000`)
	order.Spec.Mpi = scorev1.MpiMode_MPI_MODE_PMIX
	return order
}

// runMPI launches such a job, and waits until its file is there. It returns the rank.
func (n *node) runMPI(s *leadertest.Session, job uint64) (pid int) {
	n.t.Helper()
	mustPrepare(n.t, s, n.mpiOrder(job))
	s.Send(planMessage(1, job, 1e9, []uint64{job}))
	pid = int(launched(n.t, s, job).GetPids()[0])
	for !n.madeFile() {
		if err := unix.Kill(pid, 0); err != nil {
			n.t.Fatalf("the rank is gone: %v", err)
		}
	}
	if len(n.jobFiles()) == 0 {
		n.t.Fatal("the job's directory is not found")
	}
	return pid
}

// madeFile tells whether a rank has made its files.
func (n *node) madeFile() bool {
	for _, dir := range n.jobFiles() {
		if _, err := os.Stat(dir + "/segment"); err == nil {
			return true
		}
	}
	return false
}

// A job that was prepared and is killed before its launch leaves no file.
func TestAJobThatIsNeverLaunchedLeavesNoFile(t *testing.T) {
	leader := startLeader(t)
	n := startNode(t, leader)
	s := leader.Next(t)
	mustPrepare(t, s, n.mpiOrder(1))
	s.Send(killMessage(1))
	done(t, s, 1)
	if left := n.jobFiles(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A job whose steward is killed by force leaves no file: its agent removes them before it
// tells of the end.
func TestAKilledStewardsJobLeavesNoFile(t *testing.T) {
	leader := startLeader(t)
	n := startNode(t, leader)
	s := leader.Next(t)
	clocked(t, s)
	steward := parentOf(t, n.runMPI(s, 1))
	if err := unix.Kill(steward, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	done(t, s, 1)
	if left := n.jobFiles(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Agent and steward are killed: the next agent removes what the job has left, keeps what
// a living job has, and touches nothing of another agent's.
func TestTheNextAgentRemovesWhatIsLeft(t *testing.T) {
	crashes(t, func(t *testing.T, n *mortal, s *leadertest.Session) {
		foreign := mpidirs.Shared(mpidirs.Name(mpidirs.Prefix(n.options.Cluster, "n2", n.options.RunDir), 1))
		if err := os.Mkdir(foreign, 0o700); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(foreign)
		steward := parentOf(t, n.runMPI(s, 1))
		s = n.crash(s)
		holds(t, s, 1)
		if !n.madeFile() {
			t.Error("a living job has lost its files")
		}
		n.kill(s)
		if err := unix.Kill(steward, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		holds(t, n.next())
		if left := n.jobFiles(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		if _, err := os.Stat(foreign); err != nil {
			t.Errorf("another agent's: %v", err)
		}
		n.gone()
	})
}
