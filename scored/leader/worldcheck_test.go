package leader

import (
	"score/scored/api/scorev1"
	"score/scored/leader/names"
	"score/scored/state"
	"score/scored/state/statepb"
	"slices"

	"google.golang.org/protobuf/proto"
)

// checkCommand fails on a command that must not be in this log, and on a job that ends otherwise
// than ordered.
func (w *world) checkCommand(command *statepb.Command) {
	w.t.Helper()
	if needs := state.Needs(command); needs > w.log.Protocol() && command.GetRaise() == nil {
		w.t.Fatalf("%s needs protocol %d, and the log is written in %d\n%s", commandText(command), needs, w.log.Protocol(), w.seen.String())
	}
	switch c := command.GetCommand().(type) {
	case *statepb.Command_End:
		record := w.log.Job(c.End.GetJobId())
		if record != nil && (record.Ending != nil || record.Ordered != "") && c.End.GetVerdict().GetReason() == exited {
			w.t.Fatalf("job %d ended as if by itself; ordered was %v %q\n%s", record.ID, record.Ending, record.Ordered, w.seen.String())
		}
	case *statepb.Command_Requeue:
		if record := w.log.Job(c.Requeue.GetJobId()); record != nil && record.Ending != nil {
			w.t.Fatalf("job %d restarts, and was to end\n%s", record.ID, w.seen.String())
		}
	}
}

// check compares the controller with the committed state; they agree between batches.
func (w *world) check() {
	w.t.Helper()
	for _, record := range w.log.Jobs() {
		j := w.b.jobs[record.ID]
		want := map[state.Phase][]scorev1.JobState{
			state.Queued:    {queued},
			state.Allocated: {starting, running, ending},
			state.Running:   {running, ending},
			state.Done:      {done},
		}[record.Phase]
		if j == nil {
			if record.Phase != state.Done {
				w.t.Fatalf("the controller has lost job %d", record.ID)
			}
			continue
		}
		if !slices.Contains(want, j.state) {
			w.t.Fatalf("job %d is %v in the log and %v in the controller\n%s", record.ID, record.Phase, j.state, w.seen.String())
		}
		w.checkJob(j, record)
	}
	for id := range w.b.jobs {
		if w.log.Job(id) == nil {
			w.t.Fatalf("the log has lost job %d", id)
		}
	}
	w.checkAccounts()
	w.checkWithheld()
	if w.b.names.Len() != len(w.log.Names()) {
		w.t.Fatalf("%d names in the controller, %d in the log", w.b.names.Len(), len(w.log.Names()))
	}
	if _, term := w.b.rotation, w.b.rotation.Term; term != w.b.term {
		w.t.Fatalf("plan of term %d in term %d", term, w.b.term)
	}
}

// checkWithheld: each job that waits is in the matrix unless something withholds it, and each job
// that it waits for can still start or end.
func (w *world) checkWithheld() {
	w.t.Helper()
	waiting, unmet, indexed := 0, 0, 0
	for _, j := range w.b.jobs {
		if j.state != queued {
			continue
		}
		if !j.withheld() {
			waiting++
		}
		for on := range j.unmet {
			unmet++
			if other := w.b.jobs[on]; other == nil || other.state == done || w.b.dependents[on][j.id] != j {
				w.t.Fatalf("job %d waits in vain for job %d\n%s", j.id, on, w.seen.String())
			}
		}
	}
	for _, jobs := range w.b.dependents {
		indexed += len(jobs)
	}
	if got := w.b.gang.Waiting(); got != waiting || unmet != indexed {
		w.t.Fatalf("%d jobs in the matrix, want %d; of %d dependencies %d are known\n%s", got, waiting, unmet, indexed, w.seen.String())
	}
}

// checkStart fails if a job was given places before what it waits for.
func (w *world) checkStart(id uint64) {
	w.t.Helper()
	for on, kind := range kindsOf(w.log.Job(id).Spec) {
		other := w.log.Job(on)
		if other == nil {
			continue // it has ended long ago
		}
		ended, ok := other.Phase == state.Done, other.Verdict.GetExitCode() == 0
		if is := map[scorev1.DependencyKind]bool{
			after: ended || other.Started != 0 || other.Restarts > 0, afterAny: ended, afterOK: ended && ok, afterNotOK: ended && !ok,
		}; w.log.Job(id).Parent == 0 && !is[kind] {
			w.t.Fatalf("job %d starts %v job %d, which is in %v\n%s", id, kind, on, other.Phase, w.seen.String())
		}
	}
}

// checkAccounts compares what accounts count with the jobs.
func (w *world) checkAccounts() {
	w.t.Helper()
	type sums struct{ jobs, bytes int }
	counted := make(map[uint32]sums)
	placed := make(map[uint32]bool)
	for _, j := range w.b.jobs {
		uid := j.user.GetUid()
		placed[uid] = placed[uid] || j.active()
		if j.state != done {
			counted[uid] = sums{counted[uid].jobs + 1, counted[uid].bytes + j.bytes}
		}
	}
	if len(counted) > 0 && w.b.accounts.weighAt == 0 {
		w.t.Fatalf("there are jobs, and users are not charged\n%s", w.seen.String())
	}
	for uid, a := range w.b.accounts.byUID {
		if want := counted[uid]; a.jobs != want.jobs || a.bytes != want.bytes || a.jobs == 0 && !a.kept {
			w.t.Fatalf("the account of user %d is %+v, of its jobs %+v\n%s", uid, a, want, w.seen.String())
		}
		delete(counted, uid)
	}
	for uid, want := range counted {
		w.t.Fatalf("user %d has no account, and of its jobs %+v\n%s", uid, want, w.seen.String())
	}
	for uid := range w.b.accounts.byUID {
		if use := w.b.names.Use(uid); !placed[uid] && use != (names.Use{}) {
			w.t.Fatalf("user %d has no job with places, and uses %+v of the names\n%s", uid, use, w.seen.String())
		}
	}
}

func (w *world) checkJob(j *job, record *state.Job) {
	w.t.Helper()
	if unmet := j.unmetJobs(); record.Phase == state.Queued && (!proto.Equal(j.hold, record.Hold) || !slices.Equal(unmet, record.Unmet)) {
		w.t.Fatalf("job %d is held by %v and waits for %v, in the log by %v for %v\n%s", j.id, j.hold, unmet, record.Hold, record.Unmet, w.seen.String())
	}
	if j.state == done && j.verdict == nil {
		w.t.Fatalf("job %d is done without a verdict", j.id)
	}
	if j.active() && int32(j.row) != record.Row {
		w.t.Fatalf("job %d is in row %d of the log and %d of the controller", j.id, record.Row, j.row)
	}
	if (j.state == starting || j.state == ending) && j.deadline == 0 {
		w.t.Fatalf("job %d is %v without a deadline", j.id, j.state)
	}
	for _, row := range w.b.rotation.Rows {
		for _, id := range row.Jobs {
			if uint64(id) == j.id && j.state != running && j.graceUntil == 0 {
				w.t.Fatalf("job %d is in the plan and %v", j.id, j.state)
			}
		}
	}
}
