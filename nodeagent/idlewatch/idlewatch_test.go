package idlewatch

import (
	"errors"
	"score/channels/abi"
	"score/channels/node"
	"score/nodeagent/quiescence"
	"score/nodeagent/wakesource"
	"score/scored/api/agentpb"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// job is a job's part whose state the test sets. It implements Job and Part.
type job struct {
	over, forgotten, grouped bool

	cut   node.Cut
	ran   time.Duration
	cpu   time.Duration
	error error    // of CPUTime
	asked []uint64 // the requests to examine it
	cuts  int      // calls of Cut
	looks int      // calls of Ran that are left before then
	then  func(j *job)
	sent  []*agentpb.Cut
}

func (j *job) ID() uint64                               { return 7 }
func (j *job) IsOver() bool                             { return j.over }
func (j *job) Own() wakesource.Own                      { return wakesource.Own{} }
func (j *job) CPUTime() (time.Duration, error)          { return j.cpu, j.error }
func (j *job) Pids() ([]int, error)                     { return nil, nil }
func (j *job) Examine(request uint64, _ wakesource.Own) { j.asked = append(j.asked, request) }
func (j *job) InGroup() bool                            { return j.grouped }
func (j *job) Send(message *agentpb.AgentMessage)       { j.sent = append(j.sent, message.GetCut()) }

func (j *job) Ran(int64) time.Duration {
	if j.looks--; j.looks == 0 {
		j.then(j)
	}
	return j.ran
}

func (j *job) Use(do func(Part)) {
	if !j.forgotten {
		do(j)
	}
}

func (j *job) Cut(c *node.Cut) {
	*c = j.cut
	j.cuts++
}

// reports takes what the leader was sent.
func (j *job) reports() (sent []*agentpb.Cut) {
	sent, j.sent = j.sent, nil
	return sent
}

// turn is a check after the gang was on for so long.
func (j *job) turn(w *Watcher, on time.Duration) (next time.Duration) {
	j.ran += on
	return w.checkAll()
}

// newJob is a job of two ranks that sleep.
func newJob() *job {
	return &job{grouped: true, cut: node.Cut{Ranks: 2, Asleep: 2, Sent: 5, Received: 4, Waits: []node.Wait{
		{Rank: 0, Channel: 1, How: abi.WaitMessage, Asleep: true, Since: 10, Sent: 5},
		{Rank: 1, Channel: 1, How: abi.WaitSpace, Asleep: true, Since: 20, Received: 4},
		{Rank: 1, Channel: 2, How: abi.WaitNone},
	}}}
}

type state struct {
	connected bool
	contexts  int
	jobs      []Job
}

func newWatcher(j *job) (*Watcher, *state) {
	s := &state{connected: true, contexts: 1, jobs: []Job{j}}
	return New(Options{
		Jobs: func() []Job { return s.jobs },
		Job: func(id uint64) Job {
			if id != j.ID() {
				return nil
			}
			return j
		},
		Connected:   func() bool { return s.connected },
		Contexts:    func() int { return s.contexts },
		ClusterTime: func(local int64) int64 { return local + 1000 },
	}), s
}

// asleep is a job that has been reported to sleep, and its watcher.
func asleep(t *testing.T) (*job, *Watcher, *state) {
	t.Helper()
	j := newJob()
	w, s := newWatcher(j)
	j.turn(w, time.Millisecond)
	if got := j.reports(); got != nil {
		t.Fatalf("at the first check: %v", got)
	}
	j.turn(w, quiescence.After)
	got := j.reports()
	if len(got) != 1 || !got[0].GetAsleep() || got[0].GetJobId() != 7 || got[0].GetRanks() != 2 || got[0].GetWaiting() != 2 ||
		got[0].GetSent() != 5 || got[0].GetReceived() != 4 {
		t.Fatalf("asleep for long: %v", got)
	}
	return j, w, s
}

func TestAJobIsReportedWhenItSleepsAndWakes(t *testing.T) {
	wakings := []struct {
		name string
		wake func(j *job)
	}{
		{"a message is on its way", func(j *job) { j.cut.Pending = 1 }},
		{"a rank has sent", func(j *job) { j.cut.Sent++ }},
		{"a rank waits another time", func(j *job) { j.cut.Waits[0].Since++ }},
		{"a rank has ended", func(j *job) { j.cut.Ranks, j.cut.Asleep = 1, 1 }},
		{"it computes", func(j *job) { j.cpu += time.Second }},
	}
	for _, test := range wakings {
		t.Run(test.name, func(t *testing.T) {
			j, w, _ := asleep(t)
			j.turn(w, time.Millisecond)
			if got := j.reports(); got != nil {
				t.Errorf("nothing has happened: %v", got)
			}
			j.cut.Waits = slices.Clone(j.cut.Waits)
			test.wake(j)
			cuts := j.cuts
			w.checkAll()
			if got := j.reports(); got != nil || j.cuts != cuts {
				t.Errorf("the gang was not on: %v, %d looks at channels", got, j.cuts-cuts)
			}
			j.turn(w, time.Millisecond)
			if got := j.reports(); len(got) != 1 || got[0].GetAsleep() {
				t.Errorf("awake: %v", got)
			}
		})
	}
}

// A rank that polls may have to wait for a CPU before it sleeps again.
func TestARankThatSeemsAwakeIsCheckedAgain(t *testing.T) {
	j, w, _ := asleep(t)
	j.cut.Asleep = 1
	for waited := time.Duration(0); waited < quiescence.DoubtFor; waited += recheckAfter {
		if next := j.turn(w, recheckAfter); next != recheckAfter {
			t.Fatalf("after %v it is checked again in %v", waited, next)
		}
	}
	if next, got := j.turn(w, 0), j.reports(); next != checkEvery || got != nil {
		t.Fatalf("off: checked again in %v, %v", next, got)
	}
	j.cut.Asleep = 2
	if next, got := j.turn(w, recheckAfter), j.reports(); next != checkEvery || got != nil {
		t.Fatalf("asleep again: checked in %v, %v", next, got)
	}
	j.cut.Asleep = 1
	for waited := time.Duration(0); waited <= quiescence.DoubtFor; waited += recheckAfter {
		j.turn(w, recheckAfter)
	}
	if got := j.reports(); len(got) != 1 || got[0].GetAsleep() {
		t.Errorf("awake for long: %v", got)
	}
}

// The leader's questions get an answer without doubt.
func TestAnAnswerIsWithoutDoubt(t *testing.T) {
	tests := []struct {
		name    string
		on      time.Duration // until the second look
		sleeps  bool          // at the second look
		answers bool          // that it sleeps
	}{
		{"it polled", time.Millisecond, true, true},
		{"it is awake", time.Millisecond, false, false},
		{"it was off at the second look", 0, true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j, w, _ := asleep(t)
				j.cut.Asleep, j.ran = 1, j.ran+time.Millisecond
				j.looks, j.then = 2, func(j *job) {
					j.ran += test.on
					if test.sleeps {
						j.cut.Asleep = 2
					}
				}
				w.answer(&agentpb.AskCut{JobId: 7, Request: 3})
				got := j.reports()
				if last := got[len(got)-1]; last.GetRequest() != 3 || last.GetAsleep() != test.answers {
					t.Errorf("%v", got)
				}
			})
		})
	}
}

func TestTheNextCheck(t *testing.T) {
	noTurn := &agentpb.Plan{Asleep: []uint64{7}}
	tests := []struct {
		name   string
		change func(j *job, w *Watcher, s *state)
		want   time.Duration
	}{
		{"it has turns", func(*job, *Watcher, *state) {}, checkEvery},
		{"it has no turn", func(_ *job, w *Watcher, _ *state) { w.Planned(noTurn) }, checkAsleepEvery},
		{"it has turns again", func(_ *job, w *Watcher, _ *state) { w.Planned(noTurn); w.Planned(&agentpb.Plan{}) }, checkEvery},
		{"without a control group", func(j *job, w *Watcher, _ *state) { j.grouped = false; w.Planned(noTurn) }, checkEvery},
		{"no channels", func(_ *job, _ *Watcher, s *state) { s.contexts = 0 }, checkForJobsEvery},
		{"no leader", func(_ *job, _ *Watcher, s *state) { s.connected = false }, checkForJobsEvery},
		{"no job", func(_ *job, _ *Watcher, s *state) { s.jobs = nil }, checkEvery},
	}
	for _, test := range tests {
		j, w, s := asleep(t)
		test.change(j, w, s)
		if got := j.turn(w, time.Millisecond); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestReportAgain(t *testing.T) {
	j, w, _ := asleep(t)
	w.ReportAgain()
	w.checkAll()
	if got := j.reports(); len(got) != 1 || !got[0].GetAsleep() {
		t.Errorf("on a new stream: %v", got)
	}
	w.checkAll()
	if got := j.reports(); got != nil {
		t.Errorf("later: %v", got)
	}
}

func TestWhatIsNotReported(t *testing.T) {
	tests := []struct {
		name   string
		change func(j *job)
	}{
		{"no ranks with channels", func(j *job) { j.cut = node.Cut{} }},
		{"CPU time is not known", func(j *job) { j.error = errors.New("no group") }},
		{"over", func(j *job) { j.over = true }},
		{"forgotten", func(j *job) { j.forgotten = true }},
	}
	for _, test := range tests {
		j := newJob()
		test.change(j)
		w, _ := newWatcher(j)
		for range 3 {
			j.turn(w, quiescence.After)
		}
		w.answer(&agentpb.AskCut{JobId: 8})
		if got := slices.DeleteFunc(j.reports(), func(c *agentpb.Cut) bool { return !c.GetAsleep() }); len(got) > 0 {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

func TestQuestions(t *testing.T) {
	tests := []struct {
		name     string
		change   func(j *job)
		examine  bool
		examined bool
		source   string
		waits    int
	}{
		{name: "how it is", change: func(*job) {}},
		{name: "a deadline", change: func(j *job) {
			j.cut.Waits[2] = node.Wait{Rank: 1, Channel: 2, How: abi.WaitTimed}
		}, examine: true, examined: true, source: "a rank waits with a deadline", waits: 2},
	}
	for _, test := range tests {
		j, w, _ := asleep(t)
		test.change(j)
		w.answer(&agentpb.AskCut{JobId: 7, Request: 3, Examine: test.examine})
		got := j.reports()
		if len(got) != 1 {
			t.Fatalf("%s: %v", test.name, got)
		}
		if r := got[0]; r.GetRequest() != 3 || !r.GetAsleep() || r.GetExamined() != test.examined ||
			r.GetWakeSource() != test.source || len(r.GetWaits()) != test.waits {
			t.Errorf("%s: %v", test.name, r)
		}
		if test.waits > 0 {
			if first := got[0].GetWaits()[0]; first.GetWait() != "a message" || first.GetSinceNanos() != 1010 || first.GetSent() != 5 {
				t.Errorf("%s: %v", test.name, first)
			}
		}
	}
}

// The job's steward answers in its time, or never: others' jobs do not wait for it.
func TestExaminations(t *testing.T) {
	ask := func(t *testing.T) (*job, *Watcher) {
		j, w, _ := asleep(t)
		w.answer(&agentpb.AskCut{JobId: 7, Request: 3, Examine: true})
		if got := j.reports(); got != nil || !slices.Equal(j.asked, []uint64{3}) {
			t.Fatalf("asked %d, reported %v", j.asked, got)
		}
		return j, w
	}
	find := func(w *Watcher, job, request uint64) {
		w.Examined(job, request, "a file")
		w.onFound(<-w.found)
	}
	t.Run("an answer", func(t *testing.T) {
		j, w := ask(t)
		find(w, 7, 3)
		got := j.reports()
		if len(got) != 1 || !got[0].GetExamined() || got[0].GetWakeSource() != "a file" || got[0].GetRequest() != 3 || len(got[0].GetWaits()) != 2 {
			t.Errorf("%v", got)
		}
		find(w, 7, 3)
		if got := j.reports(); got != nil {
			t.Errorf("a second answer: %v", got)
		}
	})
	t.Run("answers of others", func(t *testing.T) {
		j, w := ask(t)
		find(w, 8, 3)
		find(w, 7, 2)
		if got := j.reports(); got != nil {
			t.Errorf("%v", got)
		}
	})
	t.Run("it was awake meanwhile", func(t *testing.T) {
		j, w := ask(t)
		j.cut.Sent++
		j.turn(w, time.Millisecond)
		for range 2 {
			j.turn(w, quiescence.After)
		}
		j.reports()
		find(w, 7, 3)
		if got := j.reports(); len(got) != 1 || got[0].GetExamined() || got[0].GetRequest() != 3 || !got[0].GetAsleep() {
			t.Errorf("%v", got)
		}
	})
	t.Run("too many answers", func(t *testing.T) {
		_, w := ask(t)
		for range maxQuestions + 1 {
			w.Examined(7, 3, "")
		}
		if len(w.found) != maxQuestions {
			t.Errorf("%d answers wait", len(w.found))
		}
	})
}

// A question that finds no room is dropped: the stream to the leader does not wait.
func TestAskDoesNotWait(t *testing.T) {
	w, _ := newWatcher(newJob())
	for range maxQuestions + 1 {
		w.Ask(&agentpb.AskCut{})
	}
	if len(w.asked) != maxQuestions {
		t.Errorf("%d questions wait", len(w.asked))
	}
}
