package leader

import (
	"errors"
	"fmt"
	"runtime"
	"score/scored/api/scorev1"
	"score/scored/state"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"
)

// Other users see nothing private of a job, and its owner and operators see all, while it runs and
// when it is done.
func TestWhatOthersSee(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		link := join(t, l, "n1")
		spec := jobSpec(1)
		spec.Name, spec.Argv, spec.WorkDir = "ocean", []string{"secret-program"}, "/secret-dir"
		spec.Env, spec.StdoutPattern, spec.StderrPattern, spec.StdinPattern = []string{"KEY=secret-env"}, "secret-out", "secret-err", "secret-in"
		id, err := l.Submit(t.Context(), spec, &scorev1.Identity{Uid: 7, Gid: 7, Groups: []uint32{4711}, User: "ada"}, owner)
		if err != nil {
			t.Fatal(err)
		}
		deliver(t, l, "n1", link, prepared(id), launched(id, 1))
		operator := Caller{UID: 8, Role: scorev1.Role_ROLE_OPERATOR}
		look := func(caller Caller) string {
			var all strings.Builder
			jobs, err := listJobs(t.Context(), l, true, "", caller)
			one, oneErr := l.Job(t.Context(), id, caller)
			why, whyErr := l.Explain(t.Context(), id, caller)
			matrix, matrixErr := l.Matrix(t.Context())
			top, topErr := l.Top(t.Context())
			if err := errors.Join(err, oneErr, whyErr, matrixErr, topErr); err != nil || len(jobs) != 1 {
				t.Fatalf("%d jobs, %v", len(jobs), err)
			}
			for _, m := range []proto.Message{jobs[0], one, why, matrix, top} {
				all.WriteString(m.(interface{ String() string }).String())
			}
			if state := one.GetJob().GetState(); state == done {
				waited, err := l.Wait(t.Context(), id, caller)
				if err != nil {
					t.Fatal(err)
				}
				all.WriteString(waited.String())
			}
			return all.String()
		}
		check := func(when string) {
			t.Helper()
			synctest.Wait()
			if text := look(stranger); strings.Contains(text, "secret") || strings.Contains(text, "4711") {
				t.Errorf("%s a stranger sees %s", when, text)
			} else if !strings.Contains(text, "ocean") || !strings.Contains(text, "ada") {
				t.Errorf("%s a stranger does not see whose the job is: %s", when, text)
			}
			for _, caller := range []Caller{owner, operator} {
				if text := look(caller); !strings.Contains(text, "secret-program") || !strings.Contains(text, "secret-dir") {
					t.Errorf("%s %v sees only %s", when, caller, text)
				}
			}
		}
		check("while it runs")
		if ranks, err := l.RankStates(t.Context(), id, stranger); ranks != nil || err != nil {
			t.Errorf("a stranger sees ranks %v, %v", ranks, err)
		}
		if _, err := l.Attach(t.Context(), id, AttachOptions{}, stranger); !errors.Is(err, ErrDenied) {
			t.Errorf("a stranger attaches: %v", err)
		}
		if err := l.Cancel(t.Context(), id, operator, "secret-operator"); err != nil {
			t.Fatal(err)
		}
		deliver(t, l, "n1", link, nodeDone(id))
		check("when it is done")
		for caller, want := range map[Caller]int{stranger: 0, owner: 1, operator: 1} {
			reply, err := l.History(t.Context(), &scorev1.GetHistoryRequest{}, caller)
			if err != nil || len(reply.GetJobs()) != want {
				t.Errorf("%v sees %d jobs of history, %v", caller, len(reply.GetJobs()), err)
			}
		}
	})
}

func TestHistory(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		join(t, l, "n1")
		var ends []int64
		for i := range 3 {
			user := &scorev1.Identity{Uid: uint32(7 + i%2), User: []string{"ada", "bob"}[i%2]}
			id, err := l.Submit(t.Context(), jobSpec(1), user, Caller{UID: user.GetUid(), Role: scorev1.Role_ROLE_USER})
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Cancel(t.Context(), id, Caller{UID: user.GetUid()}, "x"); err != nil {
				t.Fatal(err)
			}
			r.Read(func(s *state.State) { ends = append(ends, s.Job(id).Ended) })
			time.Sleep(time.Second)
		}
		operator := Caller{Role: scorev1.Role_ROLE_OPERATOR}
		for _, c := range []struct {
			request *scorev1.GetHistoryRequest
			want    []uint64
		}{
			{&scorev1.GetHistoryRequest{}, []uint64{1, 2, 3}},
			{&scorev1.GetHistoryRequest{User: "ada"}, []uint64{1, 3}},
			{&scorev1.GetHistoryRequest{User: "8"}, []uint64{2}},
			{&scorev1.GetHistoryRequest{Reasons: []scorev1.EndReason{cancelled}}, []uint64{1, 2, 3}},
			{&scorev1.GetHistoryRequest{Reasons: []scorev1.EndReason{exited, aborted}}, nil},
			{&scorev1.GetHistoryRequest{Limit: 1}, []uint64{3}},
			{&scorev1.GetHistoryRequest{SinceNanos: ends[1]}, []uint64{2, 3}},
		} {
			reply, err := l.History(t.Context(), c.request, operator)
			var got []uint64
			for _, j := range reply.GetJobs() {
				got = append(got, j.GetId())
			}
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%v: %v, %v", c.request, got, err)
			}
		}
	})
}

func (w *world) limit(limits *scorev1.UserLimits) {
	w.t.Helper()
	_, err := w.b.setUser(7, "ada", &scorev1.User{Limits: limits}, []string{"jobs", "running", "cpus", "memory", "time"})
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	w.settle()
}

func TestLimitsAtSubmission(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits *scorev1.UserLimits
		change func(*scorev1.JobSpec)
		want   string
	}{
		{"jobs", &scorev1.UserLimits{Jobs: 1}, func(*scorev1.JobSpec) {}, "1 of your jobs wait or run already, and you may have 1"},
		{"cpus", &scorev1.UserLimits{Cpus: 3}, func(s *scorev1.JobSpec) { s.CpusPerTask = 2 }, "asks for 4 CPUs, 1 more than your limit of 3"},
		{"memory", &scorev1.UserLimits{MemoryPerNodeBytes: 1 << 20}, func(s *scorev1.JobSpec) { s.MemoryPerNodeBytes = 3 << 20 }, "asks for 3M on each node, more than your limit of 1M; ask for less with --mem"},
		{"time", &scorev1.UserLimits{TimeNanos: 60e9}, func(s *scorev1.JobSpec) { s.TimeLimitNanos = 90e9 }, "run time of 1m30s, 30s more than your limit of 1m0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.connect(hello("n1", 4))
			w.limit(c.limits)
			first, err := w.submit(jobSpec(2))
			if err != nil {
				t.Fatal(err)
			}
			spec := jobSpec(2)
			c.change(spec)
			_, err = w.submit(spec)
			if !errors.Is(err, ErrImpossible) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "scored user set") {
				t.Errorf("%v", err)
			}
			w.restart() // the next leader knows limits and jobs too
			w.connect(hello("n1", 4, first))
			if _, again := w.submit(spec); again == nil || again.Error() != err.Error() {
				t.Errorf("after a restart: %v", again)
			}
			w.kill(first)
			w.limit(&scorev1.UserLimits{})
			if _, err := w.submit(spec); err != nil {
				t.Errorf("without limits: %v", err)
			}
		})
	}
}

// A job without limits of its own gets no more than its user may have.
func TestLimitsAreDefaults(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 2))
	w.limit(&scorev1.UserLimits{TimeNanos: 60e9, MemoryPerNodeBytes: 1 << 20})
	id, err := w.submit(jobSpec(2))
	if err != nil {
		t.Fatal(err)
	}
	if j := w.b.jobs[id]; j.memory != 1<<20 || j.spec.GetTimeLimitNanos() != 60e9 || w.log.Job(id).Spec.GetTimeLimitNanos() != 60e9 {
		t.Errorf("%d bytes, %v", j.memory, j.spec)
	}
}

// A job beyond what its user may run waits and says so, also under the next leader.
func TestLimitsAtPlacement(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 4))
	w.limit(&scorev1.UserLimits{Running: 1})
	first, _ := w.submit(jobSpec(1))
	second, _ := w.submit(jobSpec(1))
	if w.b.jobs[first].state != starting || w.b.jobs[second].state != queued {
		t.Fatalf("%v, %v", w.b.jobs[first].state, w.b.jobs[second].state)
	}
	if lines := w.b.explain(w.b.jobs[second]).GetLines(); !strings.Contains(lines[0], "its user's other jobs: they are 1 of at most 1 job") {
		t.Errorf("%q", lines)
	}
	if why := w.b.waitingFor(w.b.jobs[second]); why != "its user's other jobs: they are 1 of at most 1 job" {
		t.Errorf("lists say that it waits for %q", why)
	}
	w.restart()
	w.connect(hello("n1", 4, first))
	if w.b.jobs[second].state != queued {
		t.Error("the next leader does not know the limit")
	}
	w.limit(&scorev1.UserLimits{})
	if w.b.jobs[second].state != starting {
		t.Error("without the limit it still waits")
	}
}

// submitAs submits a job of a user; it must be accepted.
func (w *world) submitAs(uid uint32, spec *scorev1.JobSpec) (id uint64) {
	w.t.Helper()
	w.b.submit(spec, &scorev1.Identity{Uid: uid, User: fmt.Sprint("u", uid)}, Caller{UID: uid}, func(i uint64, err error) {
		if id = i; err != nil {
			w.t.Fatalf("%v", err)
		}
	})
	w.settle()
	return id
}

// TestBurstLeavesRoom: the job of a user who comes after another has submitted hundreds is the
// next.
func TestBurstLeavesRoom(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 1))
	if err := w.b.applySettings(&scorev1.Settings{SliceNanos: 1e8, MaxRows: 1}); err != nil {
		t.Fatal(err)
	}
	w.settle()
	first := w.submitAs(1, jobSpec(1))
	for range 300 {
		w.submitAs(1, jobSpec(1))
	}
	w.advance(time.Second)
	other := w.submitAs(2, jobSpec(1))
	w.receive("n1", prepared(first))
	w.receive("n1", launched(first, w.b.now))
	w.receive("n1", nodeDone(first))
	if state := w.b.jobs[other].state; state != starting {
		t.Errorf("the other's job is %v", state)
	}
	w.kill(other)
	again := w.submitAs(2, jobSpec(1)) // at once after the first: users get points at most every shareEvery
	w.advance(shareEvery)
	if points := w.b.accounts.byUID[2].points; points <= w.b.accounts.byUID[1].points {
		t.Errorf("job %d: %d points, and the one with the burst has %d", again, points, w.b.accounts.byUID[1].points)
	}
}

// TestShortTextsCountForWhatTheyTake: jobs with as many arguments as bytes take no more memory than
// counts for their user.
func TestShortTextsCountForWhatTheyTake(t *testing.T) {
	const jobs, arguments = 10, 60_000
	w := newWorld(t)
	w.quiet = true
	w.connect(hello("n1", 1))
	if err := w.b.applySettings(&scorev1.Settings{SliceNanos: 1e8, MaxRows: 1}); err != nil {
		t.Fatal(err)
	}
	w.settle()
	before := bytesInUse()
	for range jobs {
		spec := jobSpec(1) // each has its own, as from the wire
		spec.Argv = append(spec.Argv, make([]string, arguments)...)
		w.submitAs(7, spec)
	}
	if took, counted := bytesInUse()-before, w.b.accounts.byUID[7].bytes; took > counted {
		t.Errorf("%d bytes are in use, %d are counted", took, counted)
	}
	runtime.KeepAlive(w)
}

// bytesInUse returns the bytes that are in use.
func bytesInUse() int {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// TestDescriptionsHaveABound: one user's command lines cannot fill the servers' memory.
func TestDescriptionsHaveABound(t *testing.T) {
	w := newWorld(t)
	w.quiet = true
	w.connect(hello("n1", 1))
	large := jobSpec(1)
	large.Env = []string{"A=" + strings.Repeat("x", 1<<20)}
	for range maxBytesOfOne>>20 - 1 {
		w.submitAs(7, large)
	}
	if _, err := w.submit(large); !errors.Is(err, ErrImpossible) || !strings.Contains(err.Error(), "take 255 MiB, and may take 256; pass fewer variables") {
		t.Errorf("one more: %v", err)
	}
	w.submitAs(8, large) // another has not
	w.kill(9)
	if _, err := w.submit(large); err != nil {
		t.Errorf("after the end of one: %v", err)
	}
	w.restart()
	if _, err := w.submit(large); !errors.Is(err, ErrImpossible) {
		t.Errorf("after a restart: %v", err)
	}
}
