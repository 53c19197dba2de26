package ctxswitch

import "testing"

// fataler is a *testing.T, a *testing.B or a *rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

var _ fataler = (*testing.T)(nil)

// checkInvariants checks what must hold after every Handle at the instant now.
func checkInvariants(t fataler, m *Machine, now int64) {
	t.Helper()
	checkTable(t, m)
	checkTarget(t, m)
	checkProgress(t, m)
	checkRecord(t, m)
	if d := m.Deadline(); d <= now {
		t.Fatalf("deadline %d is not after %d: the caller would spin", d, now)
	}
}

// checkTable: the table is in order, each job once, the derived counts right.
func checkTable(t fataler, m *Machine) {
	t.Helper()
	var pending [stepCount]int
	networked := 0
	for i, j := range m.jobs {
		if i > 0 && m.jobs[i-1].id >= j.id {
			t.Fatalf("jobs %d and %d are out of order", m.jobs[i-1].id, j.id)
		}
		if j.waiting != Steady {
			pending[j.waiting]++
		}
		if j.stopWaited {
			pending[Stop]++
		}
		if j.contexts > 0 {
			networked++
		}
		if j.stays && (j.want || j.bound != live) {
			t.Fatalf("job %d stays on its channels: wanted %v, bound %d", j.id, j.want, j.bound)
		}
		if j.contexts == 0 && j.bound != saved {
			t.Fatalf("job %d has no contexts, yet they are bound", j.id)
		}
		if j.launched && j.phase == PhasePrepared {
			t.Fatalf("job %d has processes and is called prepared", j.id)
		}
		if j.late && j.phase != PhaseStopping {
			t.Fatalf("job %d is late to stop and %v", j.id, j.phase)
		}
		if j.slices == 0 && !j.launched && j.phase != PhasePrepared {
			t.Fatalf("job %d is %v and was never launched", j.id, j.phase)
		}
		if j.mixed && j.phase != PhaseRunning {
			t.Fatalf("job %d stands still in part and is %v", j.id, j.phase)
		}
		if j.early && !j.want {
			t.Fatalf("job %d stands still ahead of a boundary, and is off", j.id)
		}
		if j.ran < 0 {
			t.Fatalf("job %d has run for %v", j.id, j.ran)
		}
	}
	if pending != m.pending || networked != m.networked {
		t.Fatalf("pending %v, counted %v; networked %d, counted %d", m.pending, pending, m.networked, networked)
	}
}

// checkTarget: want is what the row says, for every job.
func checkTarget(t fataler, m *Machine) {
	t.Helper()
	for _, j := range m.jobs {
		if j.want != m.wants(&j) {
			t.Fatalf("job %d: want is %v, the row says %v", j.id, j.want, m.wants(&j))
		}
	}
}

// checkProgress: what may run, run, and in which step.
func checkProgress(t fataler, m *Machine) {
	t.Helper()
	if m.state == Steady != (m.record == nil) || m.state == Steady && m.waiting() {
		t.Fatalf("steady %v, record %v, pending %v", m.state == Steady, m.record, m.pending)
	}
	if m.state != Steady && !m.waiting() {
		t.Fatalf("%v waits for nobody", m.state)
	}
	if !m.cur.present {
		return
	}
	checkChannels(t, m)
	for i := range m.jobs {
		j := &m.jobs[i]
		if m.state == Steady && !j.settled() {
			t.Fatalf("steady, but job %d is %v, want %v", j.id, j.phase, j.want)
		}
		if m.state >= Stop && j.phase == PhaseRunning && !j.runs() {
			t.Fatalf("in %v job %d runs against the row", m.state, j.id)
		}
		if m.state > Stop && j.phase == PhaseStopping && !j.late && !j.want && (!j.stopWaited || j.awaited) {
			t.Fatalf("in %v job %d was not waited for", m.state, j.id)
		}
		if m.state > Load && j.phase == PhaseRunning && !j.connected() {
			t.Fatalf("in %v job %d has no network", m.state, j.id)
		}
		if m.state > Save && !j.want && j.bound != saved && !j.stays {
			t.Fatalf("in %v the contexts of job %d are on their channels", m.state, j.id)
		}
	}
}

// checkChannels: beside the jobs of the row that is on, only as many contexts are on their channels
// as there is room for.
func checkChannels(t fataler, m *Machine) {
	t.Helper()
	on, staying := 0, 0
	for _, j := range m.jobs {
		switch {
		case j.want:
			on += j.contexts
		case j.stays:
			staying += j.contexts
		}
	}
	if staying > 0 && on+staying > m.config.Channels {
		t.Fatalf("%d contexts are on, %d stay, for %d channels", on, staying, m.config.Channels)
	}
}

// checkRecord: the open record's steps are in order and none is ahead of the
// state.
func checkRecord(t fataler, m *Machine) {
	t.Helper()
	if r := m.record; r != nil {
		checkSteps(t, r, m.state)
	}
}

// checkSteps checks the instants of a record whose switch has come to upTo. Of
// all steps only the stop may last beyond the begin of others.
func checkSteps(t fataler, r *Record, upTo Step) {
	t.Helper()
	last := r.Planned
	for s := Revoke; s <= Go; s++ {
		if !r.Steps.Has(s) {
			if r.Begin[s] != 0 || r.End[s] != 0 || r.LateSteps.Has(s) {
				t.Fatalf("%v had no part and has times: %+v", s, r)
			}
			continue
		}
		if s > upTo {
			t.Fatalf("%v is before %v, which has begun", upTo, s)
		}
		if r.Begin[s] < last || s < upTo && s != Stop && r.End[s] < r.Begin[s] {
			t.Fatalf("%v goes from %d to %d, planned or before %d", s, r.Begin[s], r.End[s], last)
		}
		if last = r.Begin[s]; s != Stop {
			last = max(last, r.End[s])
		}
	}
	late := len(r.Late) > 0
	if late != r.LateSteps.Has(Stop) {
		t.Fatalf("late jobs %v, late stop %v", r.Late, r.LateSteps.Has(Stop))
	}
}
