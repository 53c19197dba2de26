package histories

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/scored/failpoint"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"slices"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/anishathalye/porcupine"
)

// checkPatience bounds the search for an order; it takes milliseconds where there is one.
const checkPatience = time.Minute

// fault is what happens to a daemon during a history.
type fault struct {
	daemon string // servers, or a node
	point  failpoint.Point
	action string // kill, stop or error
}

// servers names all servers in a fault.
const servers = "server"

// faults are of the server where it decides, writes and tells, and of the agent where jobs begin
// and end.
var faults = []fault{
	{servers, failpoint.ProposeBegin, "kill"},
	{servers, failpoint.ProposeBegin, "error"},
	{servers, failpoint.ProposeEnd, "kill"},
	{servers, failpoint.CommitBegin, "kill"},
	{servers, failpoint.CommitEnd, "kill"},
	{servers, failpoint.CommitEnd, "error"},
	{servers, failpoint.PlanPush, "kill"},
	{servers, failpoint.LaunchArrived, "kill"},
	{servers, failpoint.ExitArrived, "kill"},
	{free, failpoint.PrepareArrived, "kill"},
	{free, failpoint.PrepareEnd, "kill"},
	{free, failpoint.PlanArrived, "kill"},
	{free, failpoint.LaunchBegin, "kill"},
	{free, failpoint.LaunchEnd, "kill"},
	{free, failpoint.ExitReport, "kill"},
	{free, failpoint.DoneReport, "kill"},
}

// faultsOfThree are of three servers: what one of them or all do at the same point, and the leader
// as one that stood still while another was elected.
var faultsOfThree = []fault{
	{servers, failpoint.ProposeBegin, "kill"},
	{servers, failpoint.ProposeEnd, "kill"},
	{servers, failpoint.ProposeEnd, "stop"},
	{servers, failpoint.CommitBegin, "kill"},
	{servers, failpoint.CommitEnd, "kill"},
	{servers, failpoint.CommitEnd, "stop"},
	{servers, failpoint.PlanPush, "kill"},
	{servers, failpoint.LaunchArrived, "kill"},
	{servers, failpoint.ExitArrived, "kill"},
}

// scene is a cluster of two nodes; the second is held by a job of its own, so that others wait for
// it.
type scene struct {
	*daemonstest.Scene
	holder  uint64
	faults  []fault
	round   int
	keepers []*keeper
	points  sync.Mutex // keepers disarm the points at the same time
}

func newScene(t *testing.T, servers int, faults []fault) *scene {
	t.Helper()
	s := &scene{
		Scene: newCluster(t, daemons.Options{Nodes: 2, Servers: servers, Grace: 10 * time.Second}), faults: faults,
	}
	hold := spec(input{kind: submitWaiting, token: "holder"}, filepath.Join(s.Dir, "ran"))
	hold.Argv, hold.Exclusive = []string{"/bin/sleep", "100000"}, true
	reply, err := s.Jobs.Submit(s.Ctx, connect.NewRequest(&scorev1.SubmitRequest{Spec: hold}))
	s.Check(err)
	s.holder = reply.Msg.GetJobId()
	s.Await("the node is held", func() bool {
		reply, err := s.Jobs.GetJob(s.Ctx, connect.NewRequest(&scorev1.GetJobRequest{JobId: s.holder}))
		return err == nil && reply.Msg.GetJob().GetState() == scorev1.JobState_JOB_STATE_RUNNING
	})
	s.keepAll()
	return s
}

// Whatever dies, and where: the answers to clients are linearizable, and what was acknowledged has
// run once.
func TestHistories(t *testing.T) { newScene(t, 0, faults).play() }

// The same, where two servers go on when one dies.
func TestHistoriesOfThree(t *testing.T) { newScene(t, 3, faultsOfThree).play() }

// play lets all faults happen.
func (s *scene) play() {
	s.T.Helper()
	for range max(*times, 1) {
		for _, f := range s.faults {
			s.fails(f)
		}
	}
	s.cancelAll([]uint64{s.holder})
	s.Check(s.AwaitForgotten(s.Ctx))
	s.Check(s.AwaitClean(s.Ctx, nil))
}

// fails lets one history happen with a fault in its midst.
func (s *scene) fails(f fault) {
	s.T.Helper()
	begin := time.Now()
	s.round++
	first, value := s.nextJob(), s.fairShare()
	r := newRecorder(s.Cluster, s.round)
	s.hits(f.daemon) // what happened before does not count
	s.Check(s.Fail(fmt.Sprintf("%s:%s=%s@%d", f.daemon, f.point, f.action, s.passing())))
	s.Check(r.work(s.Ctx, uint64(s.round)))
	s.awaitEnds()
	s.Check(s.disarm())
	hit := s.hits(f.daemon)
	if f.action != "error" && !hit && s.passing() == firstPassing {
		s.T.Errorf("%s never came to %s", f.daemon, f.point)
	}
	jobs := s.jobs()
	r.resolve(jobs)
	s.linearizable(r, first, value)
	ran, reported := s.ranOnce(r, jobs)
	s.cancelAll(waitingOf(jobs))
	if s.T.Failed() {
		s.T.Fatalf("%s at %s of %s", f.action, f.point, f.daemon)
	}
	s.T.Logf("%s at %s of %s: hit %v, %d operations, %d answers lost; %d jobs ran, %d were reported; %v", f.action, f.point, f.daemon,
		hit, len(r.history), r.lost, ran, reported, time.Since(begin).Round(time.Millisecond))
}

const (
	// firstPassing of a point is when something happens there first: in the midst of a history.
	firstPassing = 3
	// passings bounds the later ones, in soaks.
	passings = 37
)

// passing returns which passing of the point is the one: in soaks every time through all faults
// another.
func (s *scene) passing() int { return firstPassing + (s.round-1)/len(s.faults)*5%passings }

// keeper starts a daemon again when it dies, as a service manager does, and has it go on when it
// has been stopped for so long that the others go on without it. It does so until the test ends:
// what was set may come to its point after it has been taken back.
type keeper struct {
	scene  *scene
	daemon *daemons.Daemon
	help   sync.Mutex // is had while the daemon is being helped
	hit    bool
}

// keepAll keeps all daemons.
func (s *scene) keepAll() {
	var run sync.WaitGroup
	for _, daemon := range slices.Concat(s.Servers, s.Agents) {
		k := &keeper{scene: s, daemon: daemon}
		s.keepers = append(s.keepers, k)
		run.Go(k.run)
	}
	s.T.Cleanup(run.Wait)
}

func (k *keeper) run() {
	look := time.NewTicker(pausePoll)
	defer look.Stop()
	for {
		err := error(nil)
		select {
		case <-k.daemon.Ended():
			err = k.helped(k.daemon.Start)
		case <-look.C:
			if k.daemon.Paused() {
				err = k.helped(k.goOn)
			}
		case <-k.scene.Ctx.Done():
			return
		}
		if err != nil && k.scene.Ctx.Err() == nil {
			k.scene.T.Error(err)
			return
		}
	}
}

// helped has a daemon helped to which something has happened. What is set counts again in a new
// process.
func (k *keeper) helped(help func() error) error {
	k.help.Lock()
	defer k.help.Unlock()
	k.hit = true
	return errors.Join(k.scene.disarm(), help())
}

// goOn lets the daemon go on when others have gone on without it.
func (k *keeper) goOn() error {
	defer k.daemon.Continue()
	return k.scene.awaitOther(k.daemon)
}

// hits reports whether anything has happened to a node's agent, or to one of the servers, since it
// was last asked.
func (s *scene) hits(name string) (any bool) {
	for _, k := range s.keepers {
		if k.daemon.Name == name || name == servers && slices.Contains(s.Servers, k.daemon) {
			k.help.Lock()
			any = any || k.hit
			k.hit = false
			k.help.Unlock()
		}
	}
	return any
}

// disarm lets no more happen.
func (s *scene) disarm() error {
	s.points.Lock()
	defer s.points.Unlock()
	return s.Fail("")
}

// pausePoll is how often is looked whether a daemon is stopped.
const pausePoll = 20 * time.Millisecond

// awaitOther waits until another server leads.
func (s *scene) awaitOther(than *daemons.Daemon) error {
	return daemons.Await(s.Ctx, "another server than "+than.Name+" leads", func() bool {
		for _, server := range s.Servers {
			if server == than {
				continue
			}
			states, err := s.ServerStates(s.Ctx, server.Socket)
			for _, state := range states {
				if err == nil && state.Leader && state.Name != than.Name {
					return true
				}
			}
		}
		return false
	})
}

// awaitEnds waits until only jobs are left that wait.
func (s *scene) awaitEnds() {
	s.T.Helper()
	var left []*scorev1.Job
	err := daemons.Await(s.Ctx, "all jobs that run have ended", func() bool {
		left = nil
		for job, err := range s.ListJobs(s.Ctx, &scorev1.ListJobsRequest{}) {
			if err != nil {
				return false
			}
			left = append(left, job)
		}
		return len(left) == len(waitingOf(left))+1 // and the holder
	})
	if err != nil {
		s.T.Fatal(err, left)
	}
}

// jobs are all that the cluster remembers.
func (s *scene) jobs() []*scorev1.Job {
	s.T.Helper()
	var all []*scorev1.Job
	for job, err := range s.ListJobs(s.Ctx, &scorev1.ListJobsRequest{All: true}) {
		s.Check(err)
		all = append(all, job)
	}
	return all
}

// nextJob is the number of the next job.
func (s *scene) nextJob() uint64 {
	jobs := s.jobs()
	return jobs[len(jobs)-1].GetId() + 1
}

func (s *scene) fairShare() uint32 {
	s.T.Helper()
	reply, err := s.Cluster.Cluster.GetSettings(s.Ctx, connect.NewRequest(&scorev1.GetSettingsRequest{}))
	s.Check(err)
	return reply.Msg.GetSettings().GetFairSharePoints()
}

func (s *scene) cancelAll(ids []uint64) {
	s.T.Helper()
	for _, id := range ids {
		s.Cancel(id)
	}
}

// linearizable reports that some order of the operations explains all answers.
func (s *scene) linearizable(r *recorder, first uint64, value uint32) {
	s.T.Helper()
	m := model(first, value)
	result, info := porcupine.CheckOperationsVerbose(m, r.history, checkPatience)
	if result == porcupine.Ok {
		return
	}
	picture := filepath.Join(os.TempDir(), fmt.Sprintf("score-history-%d-%d.html", os.Getpid(), s.round))
	if err := porcupine.VisualizePath(m, info, picture); err != nil {
		picture = err.Error()
	}
	s.T.Errorf("the history is not linearizable (%v); see %s", result, picture)
}

// ranOnce reports that every job that was acknowledged has run once, or its end says why not; and
// that no other ran.
func (s *scene) ranOnce(r *recorder, jobs []*scorev1.Job) (ran, reported int) {
	s.T.Helper()
	lines := make(map[string]int)
	if file, err := os.Open(r.file); err == nil {
		defer file.Close()
		for text := bufio.NewScanner(file); text.Scan(); {
			lines[text.Text()]++
		}
	}
	ended := make(map[uint64]*scorev1.Job)
	for _, job := range jobs {
		ended[job.GetId()] = job
	}
	for token, id := range r.runners {
		verdict, times := ended[id].GetVerdict(), lines[token]
		delete(lines, token)
		switch good := verdict.GetReason() == scorev1.EndReason_END_REASON_EXITED && verdict.GetExitCode() == 0; {
		case times > 1:
			s.T.Errorf("job %d, %s, ran %d times: %v", id, token, times, verdict)
		case good && times == 1:
			ran++
		case good || verdict.GetMessage() == "":
			s.T.Errorf("job %d, %s, was acknowledged, ran %d times, and its end says %v", id, token, times, verdict)
		default:
			reported++
		}
	}
	for token, times := range lines {
		s.T.Errorf("%s ran %d times and was never submitted", token, times)
	}
	return ran, reported
}
