package ctxswitch

import (
	"strings"
	"testing"
	"time"
)

// twoJobs returns a machine that switches between job 1 and job 2 each 10 ms from
// now on, with job 1 running.
func twoJobs(now int64) *Machine {
	m := New(Config{})
	m.Handle(now, OffsetChanged(1, 0))
	m.Handle(now, JobAdopted(1, 0, false))
	m.Handle(now, JobAdopted(2, 0, true))
	m.Handle(now, PlanArrived(&Plan{Term: 1, Version: 1, Origin: now, Rows: []Row{
		{Index: 0, Slice: 10 * time.Millisecond, Jobs: []JobID{1}},
		{Index: 1, Slice: 10 * time.Millisecond, Jobs: []JobID{2}},
	}}))
	return m
}

// carryOut answers all that is ordered, each order taking a while.
func carryOut(m *Machine, now int64, took int64, effects []Effect) (records []Record, end int64) {
	for len(effects) > 0 {
		e := effects[0]
		if e.Kind == EffectRecord {
			records = append(records, *e.Record)
		}
		if e.Step == Steady {
			effects = effects[1:]
			continue
		}
		now += took
		rest := append([]Effect(nil), effects[1:]...)
		effects = append(rest, m.Handle(now, Done(e))...)
	}
	return records, now
}

func TestUsage(t *testing.T) {
	now := int64(time.Second)
	m := twoJobs(now)
	for i := int64(1); i <= 4; i++ {
		at := now + i*10*ms
		carryOut(m, at, 10_000, m.Handle(at, Tick()))
	}
	// Job 1 was adopted running and let go twice; it has run for 5 ms now. A job
	// is let go in the instant in which the other is ordered to stop.
	at := now + 45*ms
	j1, _ := m.Job(1, at)
	want := Job{
		ID: 1, Phase: PhaseRunning, On: true, Slices: 2,
		Ran: 10*time.Millisecond + 10*time.Millisecond + 5*time.Millisecond,
	}
	if j1 != want {
		t.Errorf("job 1: %+v, want %+v", j1, want)
	}
	j2, _ := m.Job(2, at)
	want = Job{ID: 2, Phase: PhaseStopped, Slices: 2, Ran: 2 * 10 * time.Millisecond}
	if j2 != want {
		t.Errorf("job 2: %+v, want %+v", j2, want)
	}
	if _, ok := m.Job(3, at); ok {
		t.Error("job 3 is known")
	}
	if plan, on := m.cur.plan, m.slot; plan.Term != 1 || plan.Version != 1 || on.Round != 2 || on.Pos != 0 || !m.cur.present {
		t.Errorf("in force: %d.%d %+v %v", plan.Term, plan.Version, on, m.cur.present)
	}
}

// TestBusyMachineIsNoWarning: most stops do not come before the job is on again, but it stands
// still now and then.
func TestBusyMachineIsNoWarning(t *testing.T) {
	m := twoJobs(int64(time.Second))
	for turn := range 50 * WarnAfter {
		for range 2 { // job 1 goes, and comes
			quietSwitch(t, m, turn%(2*WarnAfter) == 0)
		}
	}
	if late := m.Count(CountLateFreezes); late < 40*WarnAfter {
		t.Errorf("%d late freezes", late)
	}
}

// quietSwitch carries out the next switch. Job 1 stops only if stops is set; a warning about it is
// an error.
func quietSwitch(t *testing.T, m *Machine, stops bool) {
	t.Helper()
	now := m.Deadline()
	todo := append([]Effect(nil), m.Handle(now, Tick())...)
	for i := 0; i < len(todo); i++ {
		e := todo[i]
		if e.Kind == EffectWarn {
			t.Errorf("a warning after %d late freezes in a row", e.Late)
		}
		if e.Step == Go || e.Step == Stop && (stops || e.Job != 1) {
			todo = append(todo, m.Handle(now+10, Done(e))...)
		}
	}
}

// TestUserIsWarnedOnce: a job never stops, then once, then never again.
func TestUserIsWarnedOnce(t *testing.T) {
	m := twoJobs(int64(time.Second))
	var warned []int
	run := func(switches int, stops bool) {
		for range switches {
			now := m.Deadline()
			todo := append([]Effect(nil), m.Handle(now, Tick())...)
			for i := 0; i < len(todo); i++ {
				e := todo[i]
				if e.Kind == EffectWarn {
					warned = append(warned, e.Late)
				}
				if e.Step == Go || e.Step == Stop && (stops || e.Job != 1) {
					todo = append(todo, m.Handle(now+10, Done(e))...)
				}
			}
		}
	}
	const switches = int(3 * WarnTime / (10 * time.Millisecond)) // one in each slice
	run(switches+1, false)
	run(2, true)
	run(switches, false)
	if len(warned) != 1 || warned[0] < WarnAfter || warned[0] > switches/2 {
		t.Errorf("warned %v, want once, of %d or more", warned, WarnAfter)
	}
	late := m.Count(CountLateFreezes)
	if j, _ := m.Job(1, m.Deadline()); j.LateFreezes != late || late < 6*WarnAfter-2 {
		t.Errorf("%d late freezes of the job, %d in all", j.LateFreezes, late)
	}
}

// TestStopBySignalsIsAwaited: no thaw before the answer.
func TestStopBySignalsIsAwaited(t *testing.T) {
	now := int64(time.Second)
	m := New(Config{})
	m.Handle(now, OffsetChanged(1, 0))
	m.Handle(now, JobAdopted(1, 0, false).StopAwaited())
	m.Handle(now, JobAdopted(2, 0, true).StopAwaited())
	m.Handle(now, PlanArrived(&Plan{Term: 1, Origin: now, Rows: []Row{
		{Slice: 10 * time.Millisecond, Jobs: []JobID{1}}, {Slice: 10 * time.Millisecond, Jobs: []JobID{2}},
	}}))
	now = m.Deadline()
	effects := append([]Effect(nil), m.Handle(now, Tick())...)
	if len(effects) != 1 || effects[0].Kind != EffectFreeze || effects[0].By != now+int64(StopTimeout) || m.State() != Stop {
		t.Fatalf("at the boundary %v, state %v", effects, m.State())
	}
	effects = m.Handle(now+10, Done(effects[0]))
	if len(effects) != 1 || effects[0].Kind != EffectThaw {
		t.Errorf("after the answer %v", effects)
	}
}

func TestUnknownJobsAreNoMatter(t *testing.T) {
	m := twoJobs(ms)
	for _, ev := range []Event{JobLaunched(9), JobRemoved(9), {Kind: EventDone, Job: 9, Step: Stop}, PlanArrived(nil)} {
		if effects := m.Handle(2*ms, ev); len(effects) > 0 {
			t.Errorf("event %d: %v", ev.Kind, effects)
		}
		checkInvariants(t, m, 2*ms)
	}
	if len(m.jobs) != 2 {
		t.Errorf("%d jobs", len(m.jobs))
	}
}

func TestOffsetsOutOfRange(t *testing.T) {
	m := twoJobs(ms)
	before := m.Deadline()
	m.Handle(2*ms, OffsetChanged(1, maxInstant))
	m.Handle(2*ms, OffsetChanged(1, -maxInstant))
	if m.Deadline() != before || m.Count(CountRefusedEvents) != 2 {
		t.Errorf("deadline %d, before %d; %d refused", m.Deadline(), before, m.Count(CountRefusedEvents))
	}
}

// TestManyJobs: a node with more jobs than memory was taken for in advance.
func TestManyJobs(t *testing.T) {
	const jobs = 3 * usualJobs
	m := New(Config{})
	now := int64(time.Second)
	p := &Plan{Term: 1, Origin: now, Rows: make([]Row, 2)}
	for id := JobID(jobs); id > 0; id-- {
		m.Handle(now, JobAdopted(id, 0, true))
		p.Rows[id%2].Jobs = append(p.Rows[id%2].Jobs, id)
	}
	p.Rows[0].Slice, p.Rows[1].Slice = time.Second, time.Second
	m.Handle(now, OffsetChanged(1, 0))
	records, now := carryOut(m, now, 10, m.Handle(now, PlanArrived(p)))
	checkInvariants(t, m, now)
	if len(records) != 1 || len(records[0].In) != jobs/2 {
		t.Fatalf("%d records", len(records))
	}
	at := m.Deadline()
	records, now = carryOut(m, at, 10, m.Handle(at, Tick()))
	checkInvariants(t, m, now)
	if len(records) != 1 || len(records[0].Out) != jobs/2 || len(records[0].In) != jobs/2 {
		t.Fatalf("%d records", len(records))
	}
}

func TestTablesAreInOrder(t *testing.T) {
	names := map[string]bool{}
	for i, c := range CounterTable {
		if int(c.ID) != i || c.Name == "" || c.Meaning == "" || c.Unit == "" || names[c.Name] {
			t.Errorf("counter %d: %+v", i, c)
		}
		names[c.Name] = true
	}
	for i, info := range MeasureTable {
		if int(info.ID) != i || info.Name == "" || info.Meaning == "" || info.Unit != "ns" || names[info.Name] {
			t.Errorf("measure %d: %+v", i, info)
		}
		names[info.Name] = true
		if info.step != Steady && info.step.String() != info.Name {
			t.Errorf("measure %s is of step %s", info.Name, info.step)
		}
	}
	for s := Revoke; s <= Go; s++ {
		if steps[s].timeout <= 0 || steps[s].effect == EffectNone {
			t.Errorf("step %v: %+v", s, steps[s])
		}
	}
}

func TestNamesAreDistinct(t *testing.T) {
	var names []string
	for s := Steady; s <= Go+1; s++ {
		names = append(names, "step "+s.String())
	}
	for p := PhasePrepared; p <= PhaseStopped+1; p++ {
		names = append(names, "phase "+p.String())
	}
	for c := CauseBoundary; c <= CauseJob+1; c++ {
		names = append(names, "cause "+c.String())
	}
	for k := EffectNone; k <= EffectCostly+1; k++ {
		names = append(names, "effect "+k.String())
	}
	seen, unknown := map[string]bool{}, 0
	for _, name := range names {
		if seen[name] {
			t.Errorf("%s twice", name)
		}
		seen[name] = true
		if strings.HasSuffix(name, "unknown") {
			unknown++
		}
	}
	if unknown != 4 {
		t.Errorf("%d values are unknown, only the 4 beyond the last should be", unknown)
	}
}

func TestMeasures(t *testing.T) {
	now := int64(time.Second)
	m := twoJobs(now)
	var h Measures
	at := now + 10*ms
	records, _ := carryOut(m, at+7_000, 10_000, m.Handle(at+7_000, Tick()))
	h.Observe(&records[0])
	want := map[Measure]time.Duration{
		MeasureWake:  7 * time.Microsecond,
		MeasureStop:  10 * time.Microsecond,
		MeasureGo:    20 * time.Microsecond, // from the one order to both
		MeasureTotal: 27 * time.Microsecond,
	}
	for i := range MeasureTable {
		id := MeasureTable[i].ID
		d, measured := want[id]
		if h[id].Max() != d || h[id].Count() > 0 != measured {
			t.Errorf("%s: %v, %d times", MeasureTable[i].Name, h[id].Max(), h[id].Count())
		}
	}

	// Without a planned instant there is nothing to be late for.
	unplanned := records[0]
	unplanned.Cause = CauseJob
	h.Observe(&unplanned)
	if h[MeasureWake].Count() != 1 || h[MeasureTotal].Count() != 1 || h[MeasureStop].Count() != 2 {
		t.Error("an unplanned switch has a wake or total time")
	}
	broken := records[0]
	broken.Superseded, broken.Running = true, 0
	h.Observe(&broken)
	if h[MeasureWake].Count() != 2 || h[MeasureTotal].Count() != 1 {
		t.Error("a switch that was broken off has a total time")
	}
}

// TestSwitchAllocatesNothing: from the tick to the record, with many jobs.
func TestSwitchAllocatesNothing(t *testing.T) {
	m, now := gangs(16)
	var h Measures
	if n := testing.AllocsPerRun(100, func() { now = switchOnce(m, &h) }); n != 0 {
		t.Errorf("%v allocations in a switch", n)
	}
	checkInvariants(t, m, now)
	if m.Count(CountSwitches) < 100 {
		t.Errorf("only %d switches", m.Count(CountSwitches))
	}
}

// gangs returns a machine that switches between two rows of that many jobs.
func gangs(jobs int) (m *Machine, now int64) {
	m, now = New(Config{}), int64(time.Second)
	p := &Plan{Term: 1, Origin: now, Rows: make([]Row, 2)}
	for i := range p.Rows {
		p.Rows[i] = Row{Index: i, Slice: 10 * time.Millisecond}
		for k := range jobs {
			id := JobID(1 + i*jobs + k)
			p.Rows[i].Jobs = append(p.Rows[i].Jobs, id)
			m.Handle(now, JobAdopted(id, 0, i > 0))
		}
	}
	m.Handle(now, OffsetChanged(1, 0))
	m.Handle(now, PlanArrived(p))
	return m, now
}

// pendingOrders holds what switchOnce has still to answer.
var pendingOrders [2 * usualJobs]Effect

// switchOnce makes the next switch, as an agent would.
func switchOnce(m *Machine, h *Measures) (now int64) {
	now = m.Deadline()
	todo := append(pendingOrders[:0], m.Handle(now, Tick())...)
	for i := 0; i < len(todo); i++ {
		switch e := todo[i]; e.Kind {
		case EffectFreeze, EffectThaw:
			now += 1000
			todo = append(todo, m.Handle(now, Done(e))...)
		case EffectRecord:
			h.Observe(e.Record)
		default:
		}
	}
	return now
}

// BenchmarkSwitch makes whole switches: tick, freeze, answer, thaw, answer,
// record and histograms.
func BenchmarkSwitch(b *testing.B) {
	for _, bench := range []struct {
		name string
		jobs int
	}{{"1-for-1", 1}, {"16-for-16", 16}} {
		b.Run(bench.name, func(b *testing.B) {
			m, _ := gangs(bench.jobs)
			var h Measures
			b.ReportAllocs()
			for b.Loop() {
				switchOnce(m, &h)
			}
		})
	}
}

// BenchmarkTick is an agent's waking for nothing.
func BenchmarkTick(b *testing.B) {
	m, now := gangs(1)
	b.ReportAllocs()
	for b.Loop() {
		m.Handle(now, Tick())
		m.Deadline()
	}
}

// TestFreezeWaitShrinks: a freeze that nobody had to wait for is not waited for as long once a
// job is there for which others wait.
func TestFreezeWaitShrinks(t *testing.T) {
	const ms = int64(time.Millisecond)
	m := New(Config{})
	m.Handle(0, OffsetChanged(1, 0))
	m.Handle(0, JobAdopted(1, 0, false))
	m.Handle(0, JobAdopted(2, 0, true).StopAwaited())
	m.Handle(0, PlanArrived(&Plan{Term: 1, Version: 1, Rows: []Row{
		{Index: 0, Slice: 10 * time.Millisecond, Jobs: []JobID{1}},
		{Index: 1, Slice: 10 * time.Millisecond},
		{Index: 2, Slice: 80 * time.Millisecond, Jobs: []JobID{2}},
	}}))
	effects := m.Handle(10*ms, Tick())
	if len(effects) != 1 || effects[0].Kind != EffectFreeze || effects[0].By != 10*ms+int64(LooseStopTimeout) {
		t.Fatalf("ordered: %+v", effects)
	}
	for _, e := range m.Handle(20*ms, Tick()) { // job 1 never stands still
		if e.Kind == EffectThaw {
			return
		}
	}
	t.Errorf("state %v until %v: job 2 waits for a freeze of 10 ms ago", m.State(), time.Duration(m.Deadline()))
}
