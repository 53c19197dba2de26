package ctxswitch

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// world stands for the node: what its processes really do, and what a reader
// of the effects alone can know. It does not look into the machine.
type world struct {
	t   *rapid.T
	m   *Machine
	now int64

	jobs   map[JobID]*proc
	orders []Effect // not answered yet
	froze  int      // freezes ordered, in no record yet
	thawed int

	plan    *Plan
	coming  []*Plan // by origin
	version uint64
}

// proc is a job's processes.
type proc struct {
	contexts   int
	awaited    bool   // nobody goes before it stands still
	after      uint64 // the version of the last plan that does not mean it
	born       bool   // launch ordered, or adopted
	launched   bool   // confirmed
	frozen     bool   // stands still
	freezing   bool   // a freeze is ordered and the last order
	frozenFrom int64  // when it was ordered
	freezeSeq  uint64
	onNetwork  bool
	cost       time.Duration // of a stop
}

// TestModel plays against the machine whatever may happen on a node, in any
// order: answers that are late, lost, twice or of another order; jobs that
// come, go and are killed at any moment; plans; time that jumps.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, m: New(Config{Channels: rapid.SampledFrom([]int{0, 3, 100}).Draw(t, "channels")}), now: int64(time.Second), jobs: map[JobID]*proc{}}
		w.deliver(OffsetChanged(1, 0))
		t.Repeat(map[string]func(*rapid.T){
			"":         func(t *rapid.T) { w.t = t },
			"wait":     w.wait,
			"answer":   w.answer,
			"lose":     w.lose,
			"add":      w.add,
			"adopt":    w.adopt,
			"launched": w.launched,
			"remove":   w.remove,
			"connect":  w.connect,
			"cost":     w.cost,
			"plan":     w.newPlan,
		})
		w.comeToRest()
	})
}

// wait lets time pass: to the deadline, or to anywhere.
func (w *world) wait(t *rapid.T) {
	w.now += rapid.Int64Range(0, int64(50*time.Microsecond)).Draw(t, "latency")
	deadline := w.m.Deadline()
	switch rapid.SampledFrom([]string{"deadline", "short", "long"}).Draw(t, "until") {
	case "deadline":
		if deadline != Never {
			w.now = max(w.now, deadline)
		}
	case "long":
		w.now += rapid.Int64Range(0, int64(40*time.Millisecond)).Draw(t, "nanos")
	}
	w.deliver(Tick())
}

// answer carries out an order and says so.
func (w *world) answer(t *rapid.T) {
	if len(w.orders) == 0 {
		t.Skip("nothing ordered")
	}
	i := rapid.IntRange(0, len(w.orders)-1).Draw(t, "order")
	e := w.orders[i]
	if rapid.IntRange(0, 9).Draw(t, "again") > 0 {
		w.orders = slices.Delete(w.orders, i, i+1)
	}
	w.carryOut(e)
	w.deliver(w.done(e))
}

// done answers an order. Some jobs have so many threads that it takes long to stop them.
func (w *world) done(e Effect) Event {
	if p := w.jobs[e.Job]; p != nil {
		return Done(e).Costing(p.cost)
	}
	return Done(e)
}

// carryOut notes what the answer to an order means for the processes.
func (w *world) carryOut(e Effect) {
	p := w.jobs[e.Job]
	if p != nil && e.Step == Stop && p.freezing && e.Seq == p.freezeSeq {
		p.frozen = true
	}
}

func (w *world) lose(t *rapid.T) {
	if len(w.orders) == 0 {
		t.Skip("nothing ordered")
	}
	i := rapid.IntRange(0, len(w.orders)-1).Draw(t, "order")
	w.orders = slices.Delete(w.orders, i, i+1)
}

var (
	anyJob    = rapid.Custom(func(t *rapid.T) JobID { return JobID(rapid.IntRange(1, 6).Draw(t, "job")) })
	unplanned = rapid.Bool()
	contexts  = rapid.SampledFrom([]int{0, 0, 0, 2})
	cost      = rapid.SampledFrom([]time.Duration{0, 0, minStopCost, 5 * time.Millisecond, 40 * time.Millisecond})
)

func (w *world) add(t *rapid.T) {
	id := anyJob.Draw(t, "id")
	if w.jobs[id] == nil {
		w.jobs[id] = &proc{contexts: contexts.Draw(t, "contexts"), awaited: rapid.Bool().Draw(t, "awaited")}
		if unplanned.Draw(t, "unplanned") {
			w.jobs[id].after = w.version
		}
	}
	ev := w.jobs[id].kind(JobAdded(id, w.jobs[id].contexts))
	if w.jobs[id].after > 0 {
		ev = ev.NotPlannedYet()
	}
	w.deliver(ev)
}

func (w *world) adopt(t *rapid.T) {
	id := anyJob.Draw(t, "id")
	if w.jobs[id] != nil {
		t.Skip("known")
	}
	frozen := rapid.Bool().Draw(t, "frozen")
	p := &proc{contexts: contexts.Draw(t, "contexts"), awaited: rapid.Bool().Draw(t, "awaited"), born: true, launched: true, frozen: frozen}
	p.onNetwork = p.contexts > 0
	w.jobs[id] = p
	w.deliver(p.kind(JobAdopted(id, p.contexts, frozen)))
}

// kind completes the event with which the job comes.
func (p *proc) kind(ev Event) Event {
	if p.awaited {
		return ev.StopAwaited()
	}
	return ev
}

// launched ends a launch. Without cgroups its last process may not have been
// reached by a freeze, so the job runs again whatever it did before; in a cgroup
// it stands still.
func (w *world) launched(t *rapid.T) {
	id := anyJob.Draw(t, "id")
	p := w.jobs[id]
	if p == nil || !p.born || p.launched {
		t.Skip("not being launched")
	}
	p.launched = true
	if p.awaited {
		p.frozen, p.freezing = false, false
	}
	w.deliver(JobLaunched(id))
}

// connect gives a job its first context, or another one.
func (w *world) connect(t *rapid.T) {
	id := anyJob.Draw(t, "id")
	p := w.jobs[id]
	if p == nil {
		w.deliver(JobConnected(id, 1)) // it has gone meanwhile
		return
	}
	if p.contexts == 0 {
		p.contexts, p.onNetwork = 1, true
	}
	w.deliver(JobConnected(id, 1))
}

// cost changes what it takes to stop a job; it may have to go on before it stands still.
func (w *world) cost(t *rapid.T) {
	id := anyJob.Draw(t, "id")
	p := w.jobs[id]
	if p == nil {
		t.Skip("no such job")
	}
	p.cost = cost.Draw(t, "cost")
	if rapid.Bool().Draw(t, "unfinished") {
		w.deliver(StopCost(id, p.cost))
	}
}

func (w *world) remove(t *rapid.T) {
	id := anyJob.Draw(t, "id")
	if w.unrecorded(id) {
		w.froze--
	}
	delete(w.jobs, id)
	w.orders = slices.DeleteFunc(w.orders, func(e Effect) bool { return e.Job == id })
	w.deliver(JobRemoved(id))
}

func (w *world) newPlan(t *rapid.T) {
	p := &Plan{
		Term:    1,
		Version: max(1, w.version+uint64(rapid.IntRange(0, 1).Draw(t, "newer"))),
		Origin:  w.now + rapid.Int64Range(-int64(20*time.Millisecond), int64(20*time.Millisecond)).Draw(t, "origin"),
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "rows") {
		slice := time.Duration(rapid.Int64Range(int64(MinSlice), int64(12*time.Millisecond)).Draw(t, "slice"))
		jobs := rapid.SliceOfN(anyJob, 0, 3).Draw(t, "jobs")
		p.Rows = append(p.Rows, Row{Index: i, Slice: slice, Jobs: jobs})
	}
	if p.Version > w.version {
		w.version = p.Version
		w.coming = slices.DeleteFunc(w.coming, func(other *Plan) bool { return other.Origin >= p.Origin })
		w.coming = append(w.coming[:min(len(w.coming), maxComing-1)], p)
	}
	w.deliver(PlanArrived(p))
}

// row returns the jobs that are to run now, and whether there is a plan at all.
func (w *world) row() (jobs []JobID, ok bool) {
	for len(w.coming) > 0 && w.coming[0].Origin <= w.now {
		w.plan, w.coming = w.coming[0], w.coming[1:]
	}
	if w.plan == nil {
		return nil, false
	}
	if len(w.plan.Rows) == 0 {
		return nil, true
	}
	jobs = slices.Clone(w.plan.Rows[w.plan.At(w.now).Pos].Jobs)
	return slices.DeleteFunc(jobs, func(id JobID) bool { return w.jobs[id] != nil && w.plan.Version <= w.jobs[id].after }), true
}

// deliver passes an event to the machine and checks all that comes of it.
func (w *world) deliver(ev Event) {
	w.t.Helper()
	for _, e := range w.m.Handle(w.now, ev) {
		w.check(e)
	}
	w.row() // a plan comes into force when its origin has come, effects or none
	checkInvariants(w.t, w.m, w.now)
	w.checkOpen()
	if len(w.m.jobs) != len(w.jobs) {
		w.t.Fatalf("the machine knows %d jobs, there are %d", len(w.m.jobs), len(w.jobs))
	}
}

// check takes one effect to the processes.
func (w *world) check(e Effect) {
	w.t.Helper()
	if e.Kind == EffectRecord {
		w.checkRecord(e.Record)
		return
	}
	p := w.jobs[e.Job]
	if p == nil {
		w.t.Fatalf("%v for job %d, which does not exist", e.Kind, e.Job)
	}
	row, planned := w.row()
	if !planned {
		w.t.Fatalf("%v for job %d without a plan", e.Kind, e.Job)
	}
	on := slices.Contains(row, e.Job)
	if e.Step != Steady {
		w.orders = append(w.orders, e)
		if e.By <= w.now {
			w.t.Fatalf("%v is to be answered by %d, it is %d", e.Kind, e.By, w.now)
		}
	}
	switch e.Kind {
	case EffectLaunch:
		w.mayRun(e, on)
		if p.born {
			w.t.Fatalf("job %d is launched twice", e.Job)
		}
		p.born = true
	case EffectThaw:
		w.mayRun(e, on)
		p.frozen, p.freezing = false, false
		w.thawed++
	case EffectFreeze:
		j := w.m.lookup(e.Job)
		leaves := p.contexts > 0 && p.onNetwork && !w.revoked(e.Job) && !w.stays(e.Job)
		if on != j.early || !on && leaves {
			w.t.Fatalf("job %d is frozen: on %v, ahead of a boundary %v", e.Job, on, j.early)
		}
		p.freezing, p.frozenFrom, p.freezeSeq = true, w.now, e.Seq
		w.froze++
	case EffectSave:
		p.onNetwork = false
	case EffectLoad:
		p.onNetwork = true
	default:
	}
	if !p.born && e.Kind != EffectLoad && e.Kind != EffectSave && e.Kind != EffectFlush && e.Kind != EffectRevoke {
		w.t.Fatalf("%v for job %d, which has no process", e.Kind, e.Job)
	}
}

// mayRun checks that a job is let go by right: its row is on, its network is
// there, and every job of another row is off its channels and has been ordered to stop;
// it stands still, or has been given up, if that takes long with it.
func (w *world) mayRun(e Effect, on bool) {
	w.t.Helper()
	if !on {
		w.t.Fatalf("%v for job %d, whose row is not on", e.Kind, e.Job)
	}
	if p := w.jobs[e.Job]; p.contexts > 0 && !p.onNetwork {
		w.t.Fatalf("%v for job %d, whose contexts are on no channel", e.Kind, e.Job)
	}
	row, _ := w.row()
	for id, p := range w.jobs {
		if slices.Contains(row, id) || !p.born || p.frozen {
			continue
		}
		other := w.jobs[e.Job]
		inTime := w.now < p.frozenFrom+int64(StopTimeout)
		if !p.freezing || inTime && (p.awaited || other.awaited) {
			w.t.Fatalf("%v for job %d, but job %d of another row runs (freeze ordered: %v)",
				e.Kind, e.Job, id, p.freezing)
		}
		if p.onNetwork && !w.stays(id) {
			w.t.Fatalf("%v for job %d, but the contexts of job %d are on their channels", e.Kind, e.Job, id)
		}
	}
}

// unrecorded reports whether the job was stopped ahead of a boundary, and no record has that.
func (w *world) unrecorded(id JobID) bool {
	j := w.m.lookup(id)
	return j != nil && j.unrecorded
}

// stays reports whether the job's contexts are to stay on their channels; see checkChannels.
func (w *world) stays(id JobID) bool {
	j := w.m.lookup(id)
	return j != nil && j.stays
}

// revoked reports whether the last order to the job's contexts took them away.
func (w *world) revoked(id JobID) bool {
	j := w.m.lookup(id)
	return j != nil && j.bound != live
}

// checkRecord checks that what was ordered since the last record is in it.
func (w *world) checkRecord(r *Record) {
	w.t.Helper()
	checkSteps(w.t, r, Go)
	if len(r.Out) > w.froze || len(r.In) != w.thawed {
		w.t.Fatalf("ordered %d freezes and %d thaws, the record has %v and %v", w.froze, w.thawed, r.Out, r.In)
	}
	if r.Planned > w.now || r.Finished != w.now {
		w.t.Fatalf("it is %d, the record says planned %d, finished %d", w.now, r.Planned, r.Finished)
	}
	if r.Running > r.Finished || r.Running != 0 && r.Running < r.Planned || r.Superseded != (r.Running == 0) {
		w.t.Fatalf("running at %d, planned %d, finished %d, superseded %v", r.Running, r.Planned, r.Finished, r.Superseded)
	}
	w.froze -= len(r.Out) // checkOpen compares the rest
	w.thawed = 0
}

// checkOpen checks that the freezes in no record yet will be in the next one.
func (w *world) checkOpen() {
	w.t.Helper()
	n := 0
	if w.m.record != nil {
		n = len(w.m.record.Out)
	}
	for id := range w.jobs {
		if w.unrecorded(id) {
			n++
		}
	}
	if n != w.froze {
		w.t.Fatalf("%d freezes are in no record, the next will have %d", w.froze, n)
	}
}

// comeToRest answers everything until the machine is steady: then exactly the
// jobs of the row run.
func (w *world) comeToRest() {
	for range 16 * int(LooseStopTimeout/MinSlice) {
		if len(w.orders) == 0 && w.m.State() == Steady {
			break
		}
		if len(w.orders) == 0 {
			w.now = w.m.Deadline() // answers were lost
			w.deliver(Tick())
			continue
		}
		e := w.orders[0]
		w.orders = w.orders[1:]
		w.carryOut(e)
		w.deliver(w.done(e))
	}
	if w.m.State() != Steady {
		w.t.Fatalf("everything is answered, still %v", w.m.State())
	}
	row, planned := w.row()
	if !planned {
		return
	}
	for id, p := range w.jobs {
		on := slices.Contains(row, id)
		early := w.m.lookup(id).early
		if early && (!on || !p.freezing && !p.frozen) {
			w.t.Fatalf("job %d runs, and should stand still ahead of a boundary: %+v", id, p)
		}
		if on && !early && (!p.born || p.freezing) {
			w.t.Fatalf("job %d is on and does not run: %+v", id, p)
		}
		if !on && p.born && !p.frozen && !p.freezing {
			w.t.Fatalf("job %d is not on and runs: %+v", id, p)
		}
	}
}
