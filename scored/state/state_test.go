package state

import (
	"bytes"
	"errors"
	"fmt"
	"score/scored/state/statepb"
	"slices"
	"strings"
	"testing"
)

// A job can inherit only from a parent that has an environment. Its own variables take precedence.
func TestInherits(t *testing.T) {
	child := func(parent JobID) *statepb.Command {
		command := submit(5, 1)
		command.GetSubmit().ParentJob, command.GetSubmit().Inherits = parent, true
		command.GetSubmit().Spec.Env = []string{"OWN=1"}
		return command
	}
	s := twoNodes(t)
	before := image(t, s)
	for _, parent := range []JobID{0, 1, 4, 9} { // none, queued, done, unknown
		if err := s.Apply(entry(s.Nanos()+1, child(parent))); err == nil {
			t.Errorf("a child of %d", parent)
		}
		if !bytes.Equal(image(t, s), before) {
			t.Errorf("a child of %d has changed something", parent)
		}
	}
	mustApply(t, s, child(3))
	if env := strings.Join(s.Job(5).Spec.GetEnv(), " "); env != "HOME=/ OWN=1" {
		t.Errorf("its environment is %q", env)
	}
}

func TestLifeOfAJob(t *testing.T) {
	s := New()
	mustApply(t, s, node("n1", 2))
	mustApply(t, s, submit(1, 2), allocate(1, 3, place("n1", []uint32{0, 1}, []uint32{0, 1})))
	job := s.Job(1)
	if job.Phase != Allocated || job.Row != 3 || job.Attempts != 1 || job.Gang != 1 || job.Places[0].BootID != "boot-n1" {
		t.Fatalf("after Allocate: %+v", job)
	}
	mustApply(t, s, moveRow(1, 0))
	if s.Job(1).Row != 0 || job.Row != 3 {
		t.Fatalf("MoveRow: row %d; the record handed out before has %d", s.Job(1).Row, job.Row)
	}
	mustApply(t, s, requeue(1))
	if job := s.Job(1); job.Phase != Queued || job.Row != -1 || job.Places != nil {
		t.Fatalf("after Requeue: %+v", job)
	}
	mustApply(t, s, allocate(1, 0, place("n1", []uint32{0, 1}, []uint32{0})), markRunning(1))
	if job := s.Job(1); job.Phase != Running || job.Started != 5 || job.Attempts != 2 {
		t.Fatalf("after MarkRunning: %+v", job)
	}
	mustApply(t, s, end(1))
	done := s.Job(1)
	if done.Phase != Done || done.Ended != s.Nanos() || done.Spec.Env != nil || len(done.Places) != 1 {
		t.Fatalf("after End: %+v", done)
	}
	if job.Spec.Env == nil {
		t.Fatal("End changed the spec of a record handed out before")
	}
	if s.Unfinished() != 0 {
		t.Fatalf("%d unfinished", s.Unfinished())
	}
}

func TestBadEntriesChangeNothing(t *testing.T) {
	ranks := func(r ...uint32) []uint32 { return r }
	tests := []struct {
		name  string
		entry *statepb.Entry
		want  error
	}{
		{"empty", entry(100), ErrEmpty},
		{"nil", nil, ErrEmpty},
		{"old", entry(1, submit(5, 1)), ErrTime},
		{"no command", entry(100, &statepb.Command{}), ErrCommand},
		{"nil command", entry(100, nil), ErrCommand},
		{"command without content", entry(100, &statepb.Command{Command: &statepb.Command_End{}}), ErrUnknownJob},
		{"node without name", entry(100, node("", 1)), ErrCommand},
		{"node without CPU", entry(100, node("n3", 0)), ErrCommand},
		{"unknown node gone", entry(100, nodeGone("n3")), ErrUnknownNode},
		{"node in use", entry(100, nodeGone("n1")), ErrNodeInUse},
		{"id too low", entry(100, submit(4, 1)), ErrJobID},
		{"id too high", entry(100, submit(6, 1)), ErrJobID},
		{"no tasks", entry(100, submit(5, 0)), ErrCommand},
		{"key too short", entry(100, withKey(submit(5, 1), "short", make([]byte, DigestBytes))), ErrCommand},
		{"key without digest", entry(100, withKey(submit(5, 1), "0123456789abcdef", nil)), ErrCommand},
		{"key of a job", entry(100, keyed(5, "k"), end(5), submit(6, 1), submit(7, 1), keyed(8, "k")), ErrSubmitted},
		{"unknown job", entry(100, markRunning(9)), ErrUnknownJob},
		{"allocated twice", entry(100, allocate(2, 0, place("n1", ranks(0, 1), ranks(0)))), ErrPhase},
		{"negative row", entry(100, allocate(1, -1, place("n1", ranks(0, 1), ranks(0)))), ErrCommand},
		{"no places", entry(100, allocate(1, 0)), ErrPlaces},
		{"half a gang", entry(100, allocate(1, 0, place("n1", ranks(0), ranks(0)))), ErrPlaces},
		{"rank twice", entry(100, allocate(1, 0, place("n1", ranks(0), ranks(0)), place("n2", ranks(0), ranks(0)))), ErrPlaces},
		{"rank beyond", entry(100, allocate(1, 0, place("n1", ranks(0, 2), ranks(0)))), ErrPlaces},
		{"ranks disordered", entry(100, allocate(1, 0, place("n1", ranks(1, 0), ranks(0)))), ErrPlaces},
		{"node twice", entry(100, allocate(1, 0, place("n1", ranks(0), ranks(0)), place("n1", ranks(1), ranks(1)))), ErrPlaces},
		{"no CPU", entry(100, allocate(1, 0, place("n1", ranks(0, 1), nil))), ErrPlaces},
		{"CPU beyond", entry(100, allocate(1, 0, place("n1", ranks(0, 1), ranks(2)))), ErrPlaces},
		{"place on no node", entry(100, allocate(1, 0, place("n9", ranks(0, 1), ranks(0)))), ErrUnknownNode},
		{"move of a queued job", entry(100, moveRow(1, 1)), ErrPhase},
		{"move below", entry(100, moveRow(2, -1)), ErrCommand},
		{"requeue of a queued job", entry(100, requeue(1)), ErrPhase},
		{"requeue of a running job", entry(100, requeue(3)), ErrPhase},
		{"running before places", entry(100, markRunning(1)), ErrPhase},
		{"running twice", entry(100, markRunning(3)), ErrPhase},
		{"end twice", entry(100, end(4)), ErrPhase},
		{"end without verdict", entry(100, &statepb.Command{Command: &statepb.Command_End{End: &statepb.End{JobId: 1}}}), ErrCommand},
		{"settings without slice", entry(100, settings(0, 1)), ErrCommand},
		{"settings without row", entry(100, settings(1, 0)), ErrCommand},
		{"name of a queued job", entry(100, publish(1, "x")), ErrPhase},
		{"unknown name", entry(100, unpublish(3, "x")), ErrNameUnknown},
		{"name of another job", entry(100, unpublish(2, "ocean")), ErrNameUnknown},
		{"good commands before a bad one", entry(100,
			node("n3", 1), settings(1, 1), submit(5, 1), allocate(5, 0, place("n3", ranks(0), ranks(0))), markRunning(5),
			publish(5, "a"), unpublish(3, "ocean"), end(3), end(5), nodeGone("n3"), requeue(2), nodeGone("n2"), end(4)), ErrPhase},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := twoNodes(t)
			before := image(t, s)
			if err := s.Apply(test.entry); !errors.Is(err, test.want) {
				t.Fatalf("error %v, want %v", err, test.want)
			}
			if !bytes.Equal(image(t, s), before) {
				t.Fatal("the entry changed the state")
			}
			checkInvariants(t, s)
		})
	}
}

func TestNamesBelongToAUserAndVanishWithTheirJob(t *testing.T) {
	s := twoNodes(t) // job 3 of user 0 has published "ocean"
	if s.names[nameKey{1, "ocean"}] != nil {
		t.Fatal("another user sees the name")
	}
	if name := s.names[nameKey{0, "ocean"}]; name == nil || name.Port != "port of ocean" || name.Job != 3 {
		t.Fatalf("name %+v", name)
	}
	mustApply(t, s, submit(5, 1), submit(6, 1), allocate(6, 0, place("n1", []uint32{0}, []uint32{0})))
	if err := s.Apply(entry(100, publish(6, "ocean"))); !errors.Is(err, ErrNameTaken) {
		t.Fatalf("second publication: %v", err)
	}
	mustApply(t, s, end(3))
	if s.names[nameKey{0, "ocean"}] != nil {
		t.Fatal("the name outlived its job")
	}
	mustApply(t, s, publish(6, "ocean"), unpublish(6, "ocean"), publish(6, "ocean"))
	checkInvariants(t, s)
}

func TestBoundOfNames(t *testing.T) {
	s := twoNodes(t)
	for i := range MaxNamesPerJob - 1 {
		mustApply(t, s, publish(3, fmt.Sprint(i)))
	}
	if err := s.Apply(entry(s.Nanos(), publish(3, "more"))); !errors.Is(err, ErrTooMany) {
		t.Fatalf("error %v", err)
	}
}

func TestFinishedJobsAreBounded(t *testing.T) {
	s := New()
	for id := JobID(1); id <= DefaultFinished+10; id++ {
		mustApply(t, s, submit(id, 1), end(id))
	}
	if got := len(s.Jobs()); got != DefaultFinished {
		t.Fatalf("%d jobs kept, want %d", got, DefaultFinished)
	}
	if s.Job(10) != nil || s.Job(11) == nil {
		t.Fatal("not the oldest were forgotten")
	}
	before := image(t, s)
	if err := s.Apply(entry(s.Nanos(), submit(DefaultFinished+11, 1), end(DefaultFinished+11), end(1))); err == nil {
		t.Fatal("a bad entry was taken")
	}
	if !bytes.Equal(image(t, s), before) {
		t.Fatal("taking back an end at the bound changed the state")
	}
	checkInvariants(t, s)
}

func TestUnfinishedJobsAreBounded(t *testing.T) {
	s := New()
	for id := JobID(1); id <= MaxUnfinished; id++ {
		mustApply(t, s, submit(id, 1))
	}
	if err := s.Apply(entry(s.Nanos(), submit(MaxUnfinished+1, 1))); !errors.Is(err, ErrTooMany) {
		t.Fatalf("error %v", err)
	}
}

func TestNodesAreBounded(t *testing.T) {
	s := New()
	for i := range MaxNodes {
		mustApply(t, s, node(fmt.Sprint("n", i), 1))
	}
	if err := s.Apply(entry(s.Nanos(), node("more", 1))); !errors.Is(err, ErrTooMany) {
		t.Fatalf("error %v", err)
	}
	mustApply(t, s, node("n0", 4)) // known already
	mustApply(t, s, nodeGone("n0"), node("more", 1))
}

func TestErrorNamesTheCommand(t *testing.T) {
	err := twoNodes(t).Apply(entry(100, settings(1, 1), markRunning(9)))
	if err == nil || !strings.Contains(err.Error(), "command 1") || !strings.Contains(err.Error(), "9") {
		t.Fatalf("error %v", err)
	}
}

// fataler is a test of package testing or of rapid.
type fataler interface {
	Helper()
	Fatalf(format string, arguments ...any)
}

// checkInvariants checks what must hold after every entry.
func checkInvariants(t fataler, s *State) {
	t.Helper()
	done := 0
	for _, job := range s.Jobs() {
		if job.Phase == Done {
			done++
		}
		if (job.Phase == Done) != (job.Verdict != nil) {
			t.Fatalf("job %d in %v has verdict %v", job.ID, job.Phase, job.Verdict)
		}
		placed := job.Phase == Allocated || job.Phase == Running
		if placed != (job.Row >= 0) {
			t.Fatalf("job %d in %v has row %d", job.ID, job.Phase, job.Row)
		}
		if placed {
			checkPlaces(t, s, job)
		}
		if job.ID >= s.NextJob() {
			t.Fatalf("job %d, next is %d", job.ID, s.NextJob())
		}
	}
	if done != len(s.finished) || done > DefaultFinished {
		t.Fatalf("%d done, %d in order", done, len(s.finished))
	}
	checkHistories(t, s)
	checkSubmissions(t, s)
	for _, name := range s.Names() {
		job := s.Job(name.Job)
		if job == nil || job.Phase == Done || job.User.GetUid() != name.UID {
			t.Fatalf("name %+v of %+v", name, job)
		}
	}
}

func checkPlaces(t fataler, s *State, job *Job) {
	t.Helper()
	ranks := make(map[uint32]bool)
	for _, place := range job.Places {
		if s.Node(place.Node) == nil {
			t.Fatalf("job %d has a place on %q", job.ID, place.Node)
		}
		for _, rank := range place.Ranks {
			if ranks[rank] {
				t.Fatalf("job %d: rank %d twice", job.ID, rank)
			}
			ranks[rank] = true
		}
	}
	if len(ranks) != int(job.Spec.GetTasks()) {
		t.Fatalf("job %d: %d of %d ranks", job.ID, len(ranks), job.Spec.GetTasks())
	}
}

// The answer to a request that cannot be granted twice is kept with its job, within bounds, until
// the job ends.
func TestAnswersAboutNamesAreKept(t *testing.T) {
	s := twoNodes(t)
	read := func(n uint64) []*statepb.Command {
		in, out := publish(3, "sea"), unpublish(3, "sea")
		in.GetPublishName().Once = true
		in.GetPublishName().By = &statepb.NameRequest{JobId: 3, Node: "n1", Request: 2 * n}
		out.GetUnpublishName().By = &statepb.NameRequest{JobId: 2, Node: "n2", Request: n}
		return []*statepb.Command{in, out}
	}
	mustApply(t, s, read(7)...)
	restored, err := Restore(image(t, s))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*State{s, restored} {
		published, got := s.Job(3).Answers, s.Job(2).Answers
		if !slices.Equal(published, []NameAnswer{{"n1", 14, ""}}) || !slices.Equal(got, []NameAnswer{{"n2", 7, "port of sea"}}) {
			t.Errorf("kept %v of who published, %v of who read", published, got)
		}
	}
	checkInvariants(t, s)
	for n := range uint64(MaxAnswersPerJob) {
		mustApply(t, s, read(100+n)...)
	}
	if got := s.Job(2).Answers; len(got) != MaxAnswersPerJob || got[0].Number != 100 {
		t.Errorf("%d answers are kept, from %d on", len(got), got[0].Number)
	}
	for range MaxAnswerBytes/(1<<14) + 1 {
		pair := read(1)
		pair[0].GetPublishName().Port = strings.Repeat("x", 1<<14)
		mustApply(t, s, pair...)
	}
	if got := s.Job(2).Answers; len(got) != MaxAnswerBytes>>14 {
		t.Errorf("%d long answers are kept", len(got))
	}
	mustApply(t, s, end(2))
	if got := s.Job(2).Answers; got != nil {
		t.Errorf("%d answers outlived their job", len(got))
	}
}
