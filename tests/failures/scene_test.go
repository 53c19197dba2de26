package failures

import (
	"fmt"
	"score/scored/api/scorev1"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
)

const (
	// slice of the rotation.
	slice = 10 * time.Millisecond
	// busyPause is the longest pause of an undisturbed gang on a machine whose processors many
	// others use. It is less than each long wait of the daemons, so that a gang that waits for one
	// shows.
	busyPause = 8 * time.Second
	// busyMedian bounds the median of those pauses: a failure that costs other gangs time does so
	// each time, and the machine's other users only now and then.
	busyMedian = time.Second
	// quietMedian does where the machine is quiet. The gang is off for two slices of each three,
	// as ever; the rest is one slice, and what sharing processors with the other nodes costs.
	quietMedian = 6 * slice
	// victim is the node on which everything happens.
	victim = "n1"
)

// scene is three gangs on three nodes: a and b take turns on n1 and n2, c on n2 and n3.
type scene struct {
	*daemonstest.Scene
	a, b, c  *daemons.Job
	channels channels
	started  int
	pauses   []time.Duration // of c, after each failure
	orphans  []uint64        // jobs whose scrun was killed
}

// channels reports whether the gangs' contexts fit the nodes' channels together.
type channels bool

const (
	scarce channels = false // each gang gives its up when it leaves
	plenty channels = true  // they stay
)

// newScene starts one. Scenes share the machine, unless pauses are to be judged strictly.
func newScene(t *testing.T, channels channels) *scene {
	t.Helper()
	if *times == 0 {
		t.Parallel()
	}
	s := &scene{channels: channels, Scene: daemonstest.NewScene(t, daemons.Options{Bin: bin, Nodes: 3, Slice: slice, Grace: 10 * time.Second, OneCPU: true})}
	// Agents stand still here for as long as a busy machine takes to look at them.
	_, err := s.Client.Cluster.SetSettings(s.Ctx, connect.NewRequest(&scorev1.SetSettingsRequest{
		Settings: &scorev1.Settings{NodeSilenceNanos: time.Minute.Nanoseconds()}, Fields: []string{"node_silence_nanos"},
	}))
	s.Check(err)
	s.c = s.exchange("n2,n3")
	return s
}

// exchange starts a gang with a rank on each of the nodes.
func (s *scene) exchange(nodes string, arguments ...string) *daemons.Job {
	s.T.Helper()
	s.started++
	start := s.Exchange
	if s.channels == scarce {
		start = s.ExchangeInTurn
	}
	j, err := start(fmt.Sprintf("g%d", s.started), nodes, 2, arguments...)
	s.Check(err)
	return j
}

// ready has all three gangs exchange messages.
func (s *scene) ready() {
	s.T.Helper()
	for _, j := range []**daemons.Job{&s.a, &s.b} {
		if *j == nil || (*j).Over() {
			*j = s.exchange("n1,n2")
		}
	}
	now := time.Now()
	for _, j := range []*daemons.Job{s.a, s.b, s.c} {
		_, err := j.AwaitRounds(s.Ctx, now)
		s.Check(err)
	}
}

// stopAt stops a node's agent at a point; trigger, if there is one, is what leads there.
func (s *scene) stopAt(node, point string, trigger func()) {
	s.T.Helper()
	s.Check(s.Fail(node + ":" + point + "=stop"))
	if trigger != nil {
		trigger()
	}
	s.Await("node "+node+" comes to "+point, s.Agent(node).Paused)
	s.Check(s.Fail("")) // who is started again goes on
}

// goOn reports that gangs exchange messages after an instant, and that no pause was long.
func (s *scene) goOn(after time.Time, jobs ...*daemons.Job) {
	s.T.Helper()
	for _, j := range jobs {
		pause, err := j.AwaitRounds(s.Ctx, after)
		s.Check(err)
		if pause > busyPause {
			s.T.Errorf("gang %s, to which nothing was done, made a pause of %v", j.Name, pause)
		}
		if j == s.c {
			s.pauses = append(s.pauses, pause)
		}
	}
}

// right reports that a job ended well.
func (s *scene) right(j *daemons.Job) {
	s.T.Helper()
	code, said, right, err := j.Result(s.Ctx)
	s.Check(err)
	if code != 0 || !right {
		s.T.Errorf("gang %s should have ended right: exit code %d, %q", j.Name, code, said)
	}
}

// killed reports that a job has ended since something of it was killed, and that its user reads the
// reason.
func (s *scene) killed(j *daemons.Job, code int, reason string) {
	s.T.Helper()
	got, said, _, err := j.Result(s.Ctx)
	s.Check(err)
	if got != code || !strings.Contains(said, reason) {
		s.T.Errorf("gang %s ended with exit code %d and %q, want %d and %q", j.Name, got, said, code, reason)
	}
}

// either reports that a job has ended right or with a reason.
func (s *scene) either(j *daemons.Job) {
	s.T.Helper()
	code, said, right, err := j.Result(s.Ctx)
	s.Check(err)
	if (code != 0 || !right) && (code == 0 || !strings.Contains(said, "scrun: ")) {
		s.T.Errorf("gang %s ended with exit code %d, right: %v, %q", j.Name, code, right, said)
	}
}

// clean reports that nothing is left of jobs that have ended.
func (s *scene) clean() {
	s.T.Helper()
	var living map[uint64]bool
	err := daemons.Await(s.Ctx, "only jobs live that somebody waits for", func() (ok bool) {
		var err error
		living, err = s.Living(s.Ctx)
		return err == nil && len(living) <= s.running()+len(s.orphans)
	})
	s.Check(err)
	s.Check(s.AwaitClean(s.Ctx, living))
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
	s.T.Helper()
	for _, j := range []*daemons.Job{s.a, s.b, s.c} {
		if j != nil && !j.Over() {
			j.Finish()
			s.right(j)
		}
	}
	for _, id := range s.orphans {
		s.Await(fmt.Sprintf("the end of job %d, whose scrun is gone", id), func() bool {
			living, err := s.Living(s.Ctx)
			return err == nil && !living[id]
		})
	}
	s.Check(s.AwaitClean(s.Ctx, nil))
}
