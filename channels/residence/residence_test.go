package residence

import (
	"errors"
	"slices"
	"testing"
	"time"
)

const ms = int64(time.Millisecond)

// fake is a context that does as its fields say, and notes what is done to it.
type fake struct {
	m       *Machine
	member  Member
	held    bool // by its process
	broken  bool // cannot be used
	flushed bool
	away    bool
	did     []string
	at      int64
}

func newFake(m *Machine) *fake {
	f := &fake{m: m, flushed: true}
	f.member.Context = f
	return f
}

func (f *fake) note(what string) { f.did = append(f.did, what) }

func (f *fake) Guarded(do func()) {
	if f.broken {
		f.m.Drop(&f.member)
		return
	}
	do()
}

func (f *fake) Revoke()  { f.note("revoke") }
func (f *fake) Restore() { f.note("restore") }
func (f *fake) Leave()   { f.note("leave") }

func (f *fake) Take(time.Duration, int64) error {
	if f.held {
		return errors.New("held")
	}
	f.note("take")
	return nil
}

func (f *fake) Flush(int64)           { f.note("flush") }
func (f *fake) Flushed() bool         { return f.flushed }
func (f *fake) Away() bool            { return f.away }
func (f *fake) Suspend(int64)         { f.away = true; f.note("suspend") }
func (f *fake) Resume(int64)          { f.away = false; f.note("resume") }
func (f *fake) Follow()               { f.note("follow") }
func (f *fake) Drive(now int64) int64 { return now }
func (f *fake) Due() int64            { return 1 << 62 }
func (f *fake) CheckAt(at int64)      { f.at = at }
func (f *fake) Await(at int64)        { f.at = at }
func (f *fake) Back(int64)            { f.note("back") }

// all makes a machine with fakes.
func all(n int) (*Machine, []*fake) {
	m := new(Machine)
	var list []*fake
	for range n {
		f := newFake(m)
		m.Add(0, &f.member)
		list = append(list, f)
	}
	return m, list
}

// TestLeaveAndReturn: the steps of leaving and coming back, each over at once.
func TestLeaveAndReturn(t *testing.T) {
	m, list := all(2)
	for step := Revoke; step <= Load; step++ {
		m.Order(ms, step, uint64(step), 2*ms)
		out, over := m.Outcome(ms)
		if !over || out.Step != step || out.Number != uint64(step) || out.Contexts != 2 || out.Held != 0 {
			t.Errorf("step %d: %+v, over %v", step, out, over)
		}
		if step == Save && out.Flushed != 2 {
			t.Errorf("save: %+v", out)
		}
		if _, again := m.Outcome(ms); again {
			t.Errorf("step %d is told twice", step)
		}
		m.Settle(ms)
	}
	m.Settle(ms) // has nothing left to do
	want := []string{"revoke", "take", "flush", "revoke", "revoke", "suspend", "follow", "resume", "follow", "leave", "back"}
	for _, f := range list {
		if !slices.Equal(f.did, want) {
			t.Errorf("was done: %v, want %v", f.did, want)
		}
	}
}

// TestLateLock: who lets go late follows the others, as far as they are.
func TestLateLock(t *testing.T) {
	for step, want := range map[Step][]string{
		Revoke: {"revoke", "take", "flush"},
		Flush:  {"revoke", "take", "flush"},
		Save:   {"revoke", "take", "flush", "suspend", "follow"},
	} {
		m, list := all(1)
		f := list[0]
		f.held = true
		m.Order(ms, step, 1, 2*ms)
		if _, over := m.Outcome(ms); over != (step != Revoke) {
			t.Errorf("step %d is over: %v", step, over)
		}
		out, over := m.Outcome(2 * ms)
		if step == Revoke && (!over || out.Held != 1) {
			t.Errorf("%+v, over %v", out, over)
		}
		f.held = false
		if m.Check(3*ms, &f.member); !slices.Equal(f.did, want) {
			t.Errorf("step %d: was done %v, want %v", step, f.did, want)
		}
	}
}

// TestNeverGiven: a context whose lock was not given is left alone, and given back its right to
// drive.
func TestNeverGiven(t *testing.T) {
	m, list := all(1)
	f := list[0]
	f.held = true
	m.Order(ms, Save, 1, 2*ms)
	if out, _ := m.Outcome(ms); out.Held != 1 || out.Flushed+out.CutOff != 0 {
		t.Errorf("%+v", out)
	}
	for i := range retryDoublings + 3 {
		now := f.at
		m.Check(now, &f.member)
		if want := now + retryFirst<<min(i, retryDoublings); f.at != want {
			t.Errorf("try %d: again after %v", i, time.Duration(f.at-now))
		}
	}
	m.Order(ms, Load, 2, 2*ms)
	if want := []string{"revoke", "restore", "back"}; !slices.Equal(f.did, want) || m.Off() {
		t.Errorf("was done: %v, want %v", f.did, want)
	}
}

// TestUnusableContextIsSkipped: a context that cannot be used holds nobody up, and the step is not
// over before the others have had their turn.
func TestUnusableContextIsSkipped(t *testing.T) {
	m, list := all(3)
	list[0].broken = true
	over := false
	m.members[0].Context = early{list[0], func() { _, over = m.Outcome(ms) }}
	m.Order(ms, Save, 1, 2*ms)
	if over {
		t.Error("over while two contexts were still to be saved")
	}
	if out, over := m.Outcome(ms); !over || out.Contexts != 2 || out.Flushed != 2 {
		t.Errorf("%+v, over %v", out, over)
	}
}

// early asks, like a loop that gives a context up, whether the step is over without it.
type early struct {
	*fake
	ask func()
}

func (e early) Guarded(do func()) {
	e.fake.Guarded(do)
	e.ask()
}

// TestFlushAwaits: a flush is over when all is answered, or at its instant.
func TestFlushAwaits(t *testing.T) {
	m, list := all(2)
	list[0].flushed = false
	m.Order(ms, Flush, 1, 5*ms)
	if _, over := m.Outcome(5*ms - 1); over {
		t.Error("over though something is unanswered")
	}
	if _, over := m.Outcome(5 * ms); !over {
		t.Error("not over at its instant")
	}
	m.Order(6*ms, Save, 2, 7*ms)
	if out, _ := m.Outcome(6 * ms); out.Flushed != 1 || out.CutOff != 1 {
		t.Errorf("%+v", out)
	}
}

// TestRemovedWhileAway: its contexts come back, and no order moves them any more.
func TestRemovedWhileAway(t *testing.T) {
	m, list := all(1)
	m.Order(ms, Save, 1, 2*ms)
	m.Outcome(ms)
	m.Settle(ms)
	m.Release(ms)
	m.Settle(ms)
	if f := list[0]; f.member.Kept() || m.Off() || !slices.Equal(f.did[len(f.did)-4:], []string{"resume", "follow", "leave", "back"}) {
		t.Errorf("still kept, or not given back: %v", f.did)
	}
	m.Order(2*ms, Save, 2, 3*ms)
	if out, over := m.Outcome(2 * ms); !over || out.Flushed != 0 || list[0].member.Kept() {
		t.Errorf("a job that is removed was saved: %+v, over %v", out, over)
	}
}

// TestContextCreatedWhileAway: a context that is made while its job is away is away from the start.
func TestContextCreatedWhileAway(t *testing.T) {
	m, _ := all(1)
	m.Order(ms, Save, 1, 2*ms)
	m.Outcome(ms)
	late := newFake(m)
	m.Add(3*ms, &late.member)
	if !late.member.Away() || late.did[len(late.did)-1] != "follow" {
		t.Errorf("was done: %v", late.did)
	}
}

// TestFound: what a former agent left goes on from where it is.
func TestFound(t *testing.T) {
	for _, test := range []struct {
		name              string
		still, away, held bool
		want              []string
		then              Step
		thenWant          []string
	}{
		{"runs", false, false, false, []string{"take", "resume", "follow", "leave", "back"}, Save, []string{"revoke", "take", "flush", "suspend", "follow"}},
		{"runs, away", false, true, false, []string{"take", "resume", "follow", "leave", "back"}, Load, nil},
		{"runs, in its section", false, false, true, []string{"restore", "back"}, Load, nil},
		{"stands still", true, false, false, []string{"take", "flush"}, Save, []string{"revoke", "suspend", "follow"}},
		{"stands still, away", true, true, false, []string{"take"}, Save, []string{"revoke"}},
		{"stands still, and its turn comes", true, true, false, []string{"take"}, Load, []string{"resume", "follow", "leave", "back"}},
		{"stands still in its section", true, false, true, nil, Load, []string{"restore", "back"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := new(Machine)
			f := newFake(m)
			f.away, f.held = test.away, test.held
			m.Adopt(ms, &f.member, test.still)
			if !slices.Equal(f.did, test.want) {
				t.Errorf("was done: %v, want %v", f.did, test.want)
			}
			f.did, f.held = nil, false
			m.Order(2*ms, test.then, 1, 3*ms)
			m.Settle(2 * ms)
			if !slices.Equal(f.did, test.thenWant) {
				t.Errorf("step %d: was done %v, want %v", test.then, f.did, test.thenWant)
			}
		})
	}
}
