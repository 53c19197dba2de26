package failures

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"score/scored/api/scorev1"
	"score/tests/daemons"
)

const (
	// slice of the rotation.
	slice = 10 * time.Millisecond
	// busyPause is the longest pause of a gang to which nothing was done, on a machine whose
	// processors many others use as well. It is less than any of the house's long waits: who
	// waits for one shows.
	busyPause = 8 * time.Second
	// busyMedian bounds the median of those pauses: what a failure costs others, it costs them
	// each time, and what the machine's other users cost only now and then.
	busyMedian = time.Second
	// quietMedian does where the machine is quiet. The gang is off for two slices of each three,
	// as ever; the rest is one slice, and what sharing processors with the other nodes costs.
	quietMedian = 6 * slice
	// victim is the node on which everything happens.
	victim = "n1"
)

// lines passes what daemons say to the test's log.
type lines struct {
	mu     sync.Mutex
	t      *testing.T
	closed bool
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.t.Log(strings.TrimSpace(string(text)))
	}
	return len(text), nil
}

// close ends the logging: a test that is over must not log.
func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// scene is three gangs on three nodes: a and b take turns on n1 and n2, c on n2 and n3.
type scene struct {
	*daemons.Cluster
	t       *testing.T
	ctx     context.Context
	a, b, c *daemons.Job
	started int
	pauses  []time.Duration // of c, after each failure
	orphans []uint64        // jobs whose scrun was killed
}

// newScene starts one. Scenes share the machine, unless pauses are to be judged strictly.
func newScene(t *testing.T) *scene {
	t.Helper()
	if *times == 0 {
		t.Parallel()
	}
	s := &scene{t: t, ctx: t.Context()}
	s.Cluster = startCluster(t, daemons.Options{Nodes: 3, Slice: slice, Grace: 10 * time.Second, OneCPU: true})
	// Agents stand still here for as long as a busy machine takes to look at them.
	_, err := s.Client.Cluster.SetSettings(s.ctx, connect.NewRequest(&scorev1.SetSettingsRequest{
		Settings: &scorev1.Settings{NodeSilenceNanos: time.Minute.Nanoseconds()}, Fields: []string{"node_silence_nanos"},
	}))
	s.check(err)
	s.c = s.exchange("n2,n3")
	return s
}

// exchange starts a gang with a rank on each of the nodes.
func (s *scene) exchange(nodes string, arguments ...string) *daemons.Job {
	s.t.Helper()
	s.started++
	j, err := s.Exchange(fmt.Sprintf("g%d", s.started), nodes, 2, arguments...)
	s.check(err)
	return j
}

func (s *scene) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// ready has all three gangs exchange messages.
func (s *scene) ready() {
	s.t.Helper()
	for _, j := range []**daemons.Job{&s.a, &s.b} {
		if *j == nil || (*j).Over() {
			*j = s.exchange("n1,n2")
		}
	}
	now := time.Now()
	for _, j := range []*daemons.Job{s.a, s.b, s.c} {
		_, err := j.AwaitRounds(s.ctx, now)
		s.check(err)
	}
}

// stopAt stops a node's agent at a point; trigger, if there is one, is what leads there.
func (s *scene) stopAt(node, point string, trigger func()) {
	s.t.Helper()
	s.check(s.Fail(node + ":" + point + "=stop"))
	if trigger != nil {
		trigger()
	}
	s.check(daemons.Await(s.ctx, "node "+node+" comes to "+point, s.Agent(node).Paused))
	s.check(s.Fail("")) // who is started again goes on
}

// goOn says that gangs exchange messages after an instant, and that no pause was long.
func (s *scene) goOn(after time.Time, jobs ...*daemons.Job) {
	s.t.Helper()
	for _, j := range jobs {
		pause, err := j.AwaitRounds(s.ctx, after)
		s.check(err)
		if pause > busyPause {
			s.t.Errorf("gang %s, to which nothing was done, made a pause of %v", j.Name, pause)
		}
		if j == s.c {
			s.pauses = append(s.pauses, pause)
		}
	}
}

// right says that a job ended well.
func (s *scene) right(j *daemons.Job) {
	s.t.Helper()
	code, said, right, err := j.Result(s.ctx)
	s.check(err)
	if code != 0 || !right {
		s.t.Errorf("gang %s should have ended right: exit code %d, %q", j.Name, code, said)
	}
}

// killed says that a job has ended since something of it was killed, and that its user was
// told what.
func (s *scene) killed(j *daemons.Job, code int, reason string) {
	s.t.Helper()
	got, said, _, err := j.Result(s.ctx)
	s.check(err)
	if got != code || !strings.Contains(said, reason) {
		s.t.Errorf("gang %s ended with exit code %d and %q, want %d and %q", j.Name, got, said, code, reason)
	}
}

// either says that a job has ended right or with a reason.
func (s *scene) either(j *daemons.Job) {
	s.t.Helper()
	code, said, right, err := j.Result(s.ctx)
	s.check(err)
	if (code != 0 || !right) && (code == 0 || !strings.Contains(said, "scrun: ")) {
		s.t.Errorf("gang %s ended with exit code %d, right: %v, %q", j.Name, code, right, said)
	}
}

// clean says that nothing is left of jobs that have ended.
func (s *scene) clean() {
	s.t.Helper()
	var living map[uint64]bool
	err := daemons.Await(s.ctx, "only jobs live that somebody waits for", func() (ok bool) {
		var err error
		living, err = s.Living(s.ctx)
		return err == nil && len(living) <= s.running()+len(s.orphans)
	})
	s.check(err)
	s.check(s.AwaitClean(s.ctx, living))
}

// running counts the gangs that run.
func (s *scene) running() (n int) {
	for _, j := range []*daemons.Job{s.a, s.b, s.c} {
		if j != nil && !j.Over() {
			n++
		}
	}
	return n
}

// end lets all gangs end, which must be right, and looks whether anything is left.
func (s *scene) end() {
	s.t.Helper()
	for _, j := range []*daemons.Job{s.a, s.b, s.c} {
		if j != nil && !j.Over() {
			j.Finish()
			s.right(j)
		}
	}
	for _, id := range s.orphans {
		s.check(daemons.Await(s.ctx, fmt.Sprintf("the end of job %d, whose scrun is gone", id), func() bool {
			living, err := s.Living(s.ctx)
			return err == nil && !living[id]
		}))
	}
	s.check(s.AwaitClean(s.ctx, nil))
}

// cancel ends a job.
func (s *scene) cancel(id uint64) {
	s.t.Helper()
	_, err := s.Jobs.CancelJob(s.ctx, connect.NewRequest(&scorev1.CancelJobRequest{JobId: id}))
	s.check(err)
}
