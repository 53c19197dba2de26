package failures

import (
	"context"
	"score/scored/api/scorev1"
	"score/scored/failpoint"
	"score/tests/daemons"
	"slices"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// switchPoints are at the beginning and the end of each step of the switch.
var switchPoints = []failpoint.Point{
	failpoint.SwitchRevokeBegin, failpoint.SwitchRevokeEnd, failpoint.SwitchStopBegin, failpoint.SwitchStopEnd,
	failpoint.SwitchFlushBegin, failpoint.SwitchFlushEnd, failpoint.SwitchSaveBegin, failpoint.SwitchSaveEnd,
	failpoint.SwitchLoadBegin, failpoint.SwitchLoadEnd, failpoint.SwitchGoBegin, failpoint.SwitchGoEnd,
}

// stayPoints are the points of a switch in which the contexts stay on their channels.
var stayPoints = []failpoint.Point{
	failpoint.SwitchStopBegin, failpoint.SwitchStopEnd, failpoint.SwitchGoBegin, failpoint.SwitchGoEnd,
}

// jobPoints are the points in the life of a job; each is reached with a job of its own.
var jobPoints = []failpoint.Point{
	failpoint.PrepareArrived, failpoint.PrepareEnd, failpoint.PlanArrived,
	failpoint.LaunchBegin, failpoint.LaunchEnd, failpoint.ExitReport, failpoint.DoneReport,
}

// failure is something that happens while the victim's agent is stopped at a point. It
// has the agent go on, or a new one in its place, and looks at what became of whom it concerns.
type failure struct {
	name string
	do   func(s *scene)
}

// nodeFailures end the agent.
var nodeFailures = []failure{{"agent killed", agentKilled}, {"node gone", nodeGone}}

// jobFailures leave the agent.
var jobFailures = []failure{
	{"rank killed", rankKilled},
	{"scrun killed", scrunKilled},
	{"plan changed", planChanged},
	{"job finished", jobFinished},
	{"job launched", jobLaunched},
}

// part chooses what is tested of a matrix: all of it with -failures.times; else each
// failure at the beginning or at the end of each step.
func part(points []failpoint.Point, failure int) (chosen []failpoint.Point) {
	if *times > 0 {
		return points
	}
	for i, p := range points {
		if (i/2+i+failure)%2 == 0 {
			chosen = append(chosen, p)
		}
	}
	return chosen
}

// rounds is how often a matrix is gone through.
func rounds() int { return max(*times, 1) }

// Failures in each step of the switch that leave the daemons alive.
func TestFailuresOfJobs(t *testing.T) {
	matrix(t, scarce, jobFailures, switchPoints, func(s *scene, f failure, p failpoint.Point) { s.fails(f, p, nil) })
}

// The agent or the whole node is gone in each step of the switch.
func TestFailuresOfNodes(t *testing.T) {
	matrix(t, scarce, nodeFailures, switchPoints, func(s *scene, f failure, p failpoint.Point) { s.fails(f, p, nil) })
}

// The same, with contexts that stay on their channels while their gang is off.
func TestFailuresOnChannels(t *testing.T) {
	matrix(t, plenty, append(slices.Clone(jobFailures), nodeFailures...), stayPoints, func(s *scene, f failure, p failpoint.Point) { s.fails(f, p, nil) })
}

// The agent or the whole node is gone while a job is being started or is ending.
func TestFailuresAtStartAndEnd(t *testing.T) {
	matrix(t, plenty, nodeFailures, jobPoints, func(s *scene, f failure, p failpoint.Point) {
		var d *daemons.Job
		s.fails(f, p, func() { d = s.exchange("n1,n2", "-rounds", "20") })
		s.either(d)
	})
}

// matrix lets each of some failures happen at each of some points.
func matrix(t *testing.T, channels channels, failures []failure, points []failpoint.Point, happen func(*scene, failure, failpoint.Point)) {
	t.Helper()
	s := newScene(t, channels)
	for range rounds() {
		for i, f := range failures {
			for _, p := range part(points, i) {
				happen(s, f, p)
			}
		}
	}
	s.end()
	s.checkPauses()
}

// fails lets a failure happen at a point; the gang elsewhere goes on, and nothing is left.
func (s *scene) fails(f failure, p failpoint.Point, trigger func()) {
	s.T.Helper()
	begin := time.Now()
	s.ready()
	s.stopAt(victim, p.String(), trigger)
	at := time.Now()
	f.do(s)
	s.goOn(at, s.c)
	s.clean()
	if s.T.Failed() {
		s.T.Fatalf("%s at %s", f.name, p)
	}
	s.T.Logf("%s at %s: %v", f.name, p, time.Since(begin).Round(time.Millisecond))
}

// checkPauses checks and logs the pauses of the gang that was left alone.
func (s *scene) checkPauses() {
	slices.Sort(s.pauses)
	n, bound := len(s.pauses), busyMedian
	if *times > 0 {
		bound = quietMedian
	}
	median := s.pauses[n/2]
	s.T.Logf("longest pause of the gang elsewhere after each of %d failures: median %v, most %v", n, median, s.pauses[n-1])
	if median > bound {
		s.T.Errorf("the gang elsewhere made pauses of %v in the median, want at most %v", median, bound)
	}
}

func agentKilled(s *scene) {
	s.Agent(victim).Kill()
	s.replaceAgent()
	s.a.Finish()
	s.b.Finish()
	s.either(s.a)
	s.either(s.b)
}

// nodeGone takes the agent and all that runs there at once.
func nodeGone(s *scene) {
	s.KillNode(victim)
	s.replaceAgent()
	s.a.Finish()
	s.b.Finish()
	s.killed(s.a, 125, "node "+victim)
	s.killed(s.b, 125, "node "+victim)
}

// replaceAgent starts the victim's agent again, as systemd would.
func (s *scene) replaceAgent() {
	s.T.Helper()
	s.Check(s.Agent(victim).Start())
	s.Check(awaitConnected(s.Ctx, s.Agent(victim)))
}

// awaitConnected waits until an agent that was started has found the server.
func awaitConnected(ctx context.Context, agent *daemons.Daemon) error {
	return daemons.Await(ctx, "the new agent is connected", func() bool {
		connected, err := agent.Metric("score_agent_connected")
		return err == nil && connected == 1
	})
}

func rankKilled(s *scene) {
	at := time.Now()
	id, err := s.a.ID(s.Ctx)
	s.Check(err)
	for _, p := range s.Ranks(id, victim) {
		s.Check(syscall.Kill(p.PID, syscall.SIGKILL))
	}
	s.Agent(victim).Continue()
	s.killed(s.a, 128+9, "signal 9")
	s.goOn(at, s.b)
}

// scrunKilled waits for the job's end by itself only once: it takes seconds.
func scrunKilled(s *scene) {
	at := time.Now()
	id, err := s.a.ID(s.Ctx)
	s.Check(err)
	s.a.KillScrun()
	s.Agent(victim).Continue()
	s.goOn(at, s.b)
	if len(s.orphans) == 0 {
		s.orphans = append(s.orphans, id)
		return
	}
	s.Cancel(id)
}

// planChanged has all nodes follow another plan, with slices of another length.
func planChanged(s *scene) {
	at := time.Now()
	reply, err := s.Client.Cluster.GetSettings(s.Ctx, connect.NewRequest(&scorev1.GetSettingsRequest{}))
	s.Check(err)
	settings := reply.Msg.GetSettings()
	settings.SliceNanos = (3*slice - time.Duration(settings.GetSliceNanos())).Nanoseconds() // 10 ms and 20 ms in turn
	_, err = s.Client.Cluster.SetSettings(s.Ctx, connect.NewRequest(&scorev1.SetSettingsRequest{
		Settings: settings, Fields: []string{"slice_nanos"},
	}))
	s.Check(err)
	s.Agent(victim).Continue()
	s.goOn(at, s.a, s.b)
}

// finishPatience is how long a gang may take to end while the agent is stopped: one whose
// turn it is on both nodes does.
const finishPatience = 60 * time.Millisecond

// jobFinished lets a gang end that runs on the victim at that moment, if one does.
func jobFinished(s *scene) {
	at, other := time.Now(), s.b
	ends := s.a
	id, err := ends.ID(s.Ctx)
	s.Check(err)
	if !s.on(id) {
		ends, other = s.b, s.a
		id, err = ends.ID(s.Ctx)
		s.Check(err)
	}
	ends.Finish()
	ctx, cancel := context.WithTimeout(s.Ctx, finishPatience)
	defer cancel()
	_ = daemons.Await(ctx, "it has ended there", func() bool { return len(s.Ranks(id, victim)) == 0 }) // it may stand still
	s.Agent(victim).Continue()
	s.right(ends)
	s.goOn(at, other)
}

func jobLaunched(s *scene) {
	at := time.Now()
	d := s.exchange("n1,n2", "-rounds", "20")
	_, err := d.ID(s.Ctx)
	s.Check(err)
	s.Agent(victim).Continue()
	s.right(d)
	s.goOn(at, s.a, s.b)
}

// on reports whether the victim lets a job run.
func (s *scene) on(job uint64) bool {
	for _, p := range s.Ranks(job, victim) {
		if !p.Frozen() {
			return true
		}
	}
	return false
}
