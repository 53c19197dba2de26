package nodeagent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"score/nodeagent/leadertest"
	"score/nodeagent/mpidirs"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/tests/await"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// mpiOrder is a job that is offered PMIx, whose rank leaves a file in the directory for
// shared memory, says so in the job's own, and goes on.
func (n *node) mpiOrder(job uint64) *agentpb.Prepare {
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

// madeFile reports whether a rank has made its files.
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
		awaitRemoved(t, n.jobFiles)
		if _, err := os.Stat(foreign); err != nil {
			t.Errorf("another agent's: %v", err)
		}
		n.gone()
	})
}

// segmentOrder is a job whose rank leaves shared memory under a name of MPICH's.
func (n *node) segmentOrder(t *testing.T, job uint64) (order *agentpb.Prepare, segment string) {
	segment = fmt.Sprintf("/dev/shm/mpich_shar_tmp%03d%03d", os.Getpid()%1000, job)
	t.Cleanup(func() { os.Remove(segment) })
	return n.order(job, "/bin/sh", "-c", ": >"+segment+" && exec sleep 1000"), segment
}

// Shared memory that MPI libraries of killed ranks leave under their own names is removed before
// the end is told, also if the steward was killed by force, if the job ended without an agent, or
// if agent and steward were killed.
func TestSegmentsOfKilledRanksAreRemoved(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	leader := startLeader(t)
	n := startMortal(t, leader)
	s := leader.Next(t)
	clocked(t, s)
	for i, forced := range []bool{false, true} {
		order, segment := n.segmentOrder(t, uint64(i+1))
		pid := n.runWith(s, order, segment)
		if forced {
			killProcess(t, parentOf(t, pid))
		} else {
			s.Send(killMessage(order.GetJobId()))
		}
		done(t, s, order.GetJobId())
		if _, err := os.Stat(segment); err == nil {
			t.Errorf("left, with a steward killed by force: %v", forced)
		}
		s.Send(forgetMessage(order.GetJobId()))
	}
	order, segment := n.segmentOrder(t, 6)
	pid := n.runWith(s, order, segment)
	n.kill(s)
	killProcess(t, pid)
	awaitEnd(t, pid)
	s = n.next()
	clocked(t, s)
	done(t, s, 6)
	if _, err := os.Stat(segment); err == nil {
		t.Error("left by a job that ended without an agent")
	}
	s.Send(forgetMessage(6))
	order, segment = n.segmentOrder(t, 7)
	pid = n.runWith(s, order, segment)
	steward := parentOf(t, pid)
	n.kill(s)
	killProcess(t, steward)
	awaitEnd(t, pid)
	holds(t, n.next())
	awaitRemoved(t, matching(segment))
}

// matching lists the files of a pattern.
func matching(pattern string) func() []string {
	return func() []string {
		found, _ := filepath.Glob(pattern) // a bad pattern, which tests do not have
		return found
	}
}

// awaitRemoved waits until an agent has removed what one before it has left.
func awaitRemoved(t *testing.T, left func() []string) {
	t.Helper()
	if err := await.Until(context.Background(), "the files are removed", func() bool { return len(left()) == 0 }); err != nil {
		t.Fatalf("%v; left: %v", err, left())
	}
}

// runWith launches a job, and waits until its file is there. It returns the rank.
func (n *node) runWith(s *leadertest.Session, order *agentpb.Prepare, file string) (pid int) {
	n.t.Helper()
	mustPrepare(n.t, s, order)
	job := order.GetJobId()
	s.Send(planMessage(1, job, time.Second, []uint64{job}))
	pid = int(launched(n.t, s, job).GetPids()[0])
	await.That(n.t, "the rank makes "+file, func() bool {
		if _, err := os.Stat(file); err == nil {
			return true
		}
		if err := unix.Kill(pid, 0); err != nil {
			n.t.Fatalf("the rank is gone: %v", err)
		}
		return false
	})
	return pid
}

func killProcess(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
