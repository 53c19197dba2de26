package ctxswitch

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const ms = int64(time.Millisecond)

func TestAt(t *testing.T) {
	p := &Plan{Origin: 100, Rows: []Row{{Index: 4, Slice: 10}, {Index: 0, Slice: 30}, {Index: 9, Slice: 5}}}
	tests := []struct {
		t    int64
		want Slot
	}{
		{100, Slot{Pos: 0, Row: 4, Round: 0, Start: 100, End: 110}},
		{109, Slot{Pos: 0, Row: 4, Round: 0, Start: 100, End: 110}},
		{110, Slot{Pos: 1, Row: 0, Round: 0, Start: 110, End: 140}},
		{144, Slot{Pos: 2, Row: 9, Round: 0, Start: 140, End: 145}},
		{145, Slot{Pos: 0, Row: 4, Round: 1, Start: 145, End: 155}},
		{100 + 45*1000 + 39, Slot{Pos: 1, Row: 0, Round: 1000, Start: 45110, End: 45140}},
		{99, Slot{Pos: 2, Row: 9, Round: -1, Start: 95, End: 100}},
	}
	for _, test := range tests {
		if got := p.At(test.t); got != test.want {
			t.Errorf("At(%d) = %+v, want %+v", test.t, got, test.want)
		}
	}
	empty := &Plan{Origin: 7}
	if got := empty.At(1000); got.Pos != -1 || got.End != maxInstant {
		t.Errorf("a plan without rows: %+v", got)
	}
}

var anyPlan = rapid.Custom(func(t *rapid.T) *Plan {
	p := &Plan{Term: 1, Version: 1, Origin: rapid.Int64Range(0, maxInstant-1).Draw(t, "origin")}
	for i := range rapid.IntRange(1, 6).Draw(t, "rows") {
		p.Rows = append(p.Rows, Row{
			Index: i,
			Slice: time.Duration(rapid.Int64Range(int64(MinSlice), int64(MaxSlice)).Draw(t, "slice")),
			Jobs:  rapid.SliceOfN(anyJob, 0, 3).Draw(t, "jobs"),
		})
	}
	return p
})

// TestSlotsTileTime: each instant lies in its slot, and the slot after it
// begins where it ends, at the next position.
func TestSlotsTileTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlan.Draw(t, "plan")
		at := rapid.Int64Range(0, maxInstant-1).Draw(t, "t")
		s := p.At(at)
		if at < s.Start || at >= s.End || s.End-s.Start != int64(p.Rows[s.Pos].Slice) || s.Row != p.Rows[s.Pos].Index {
			t.Fatalf("%d is in %+v", at, s)
		}
		if (at >= p.Origin) != (s.Round >= 0) {
			t.Fatalf("origin %d, %d is in round %d", p.Origin, at, s.Round)
		}
		next := p.At(s.End)
		if next.Start != s.End || next.Pos != (s.Pos+1)%len(p.Rows) {
			t.Fatalf("after %+v comes %+v", s, next)
		}
	})
}

func TestValidate(t *testing.T) {
	row := Row{Slice: time.Millisecond}
	tests := []struct {
		name string
		p    Plan
		ok   bool
	}{
		{"no rows", Plan{}, true},
		{"a row without jobs", Plan{Rows: []Row{row}}, true},
		{"shortest and longest", Plan{Origin: maxInstant - 1, Rows: []Row{{Slice: MinSlice}, {Slice: MaxSlice}}}, true},
		{"the most rows", Plan{Rows: many(row, MaxRows)}, true},
		{"too many rows", Plan{Rows: many(row, MaxRows+1)}, false},
		{"no slice", Plan{Rows: []Row{row, {}}}, false},
		{"a negative slice", Plan{Rows: []Row{{Slice: -time.Second}}}, false},
		{"a long slice", Plan{Rows: []Row{{Slice: MaxSlice + 1}}}, false},
		{"a negative origin", Plan{Origin: -1}, false},
		{"an origin beyond time", Plan{Origin: math.MaxInt64}, false},
		{"too many jobs", Plan{Rows: []Row{{Slice: time.Second, Jobs: make([]JobID, MaxJobsPerRow+1)}}}, false},
	}
	for _, test := range tests {
		err := test.p.Validate()
		if (err == nil) != test.ok || err != nil && !errors.Is(err, ErrBadPlan) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func many(r Row, n int) []Row {
	rows := make([]Row, n)
	for i := range rows {
		rows[i] = r
	}
	return rows
}

func TestNewerThan(t *testing.T) {
	p := &Plan{Term: 3, Version: 5}
	tests := []struct {
		term, version uint64
		want          bool
	}{{3, 4, true}, {2, 9, true}, {3, 5, false}, {3, 6, false}, {4, 0, false}}
	for _, test := range tests {
		if got := p.newerThan(planID{test.term, test.version}); got != test.want {
			t.Errorf("3.5 newer than %d.%d: %v", test.term, test.version, got)
		}
	}
}

// TestPlanIsCopied: what the caller does to his plan later changes nothing.
func TestPlanIsCopied(t *testing.T) {
	m := New(Config{})
	p := &Plan{Term: 1, Origin: ms, Rows: []Row{{Slice: time.Second, Jobs: []JobID{2, 1, 2}}}}
	m.Handle(ms, OffsetChanged(1, 0))
	m.Handle(ms, PlanArrived(p))
	p.Rows[0].Jobs[0], p.Rows[0].Slice = 7, 0
	m.Handle(2*ms, JobAdded(1, 0))
	m.Handle(2*ms, JobAdded(2, 0))
	m.Handle(2*ms, JobAdded(7, 0))
	for id, want := range map[JobID]bool{1: true, 2: true, 7: false} {
		if j, ok := m.Job(id, 2*ms); !ok || j.On != want {
			t.Errorf("job %d: %+v", id, j)
		}
	}
}

// TestNextChange compares with going through the slots one by one.
func TestNextChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlan.Draw(t, "plan")
		p.Origin %= 1 << 40
		tl := newTimeline(p, 0)
		tl.offset = rapid.Int64Range(-1e9, 1e9).Draw(t, "offset")
		on := p.At(p.Origin + rapid.Int64Range(0, 1e15).Draw(t, "t"))
		want, s := Never, on
		for range p.Rows {
			next := p.At(s.End)
			if !sameJobs(p, s.Pos, next.Pos) {
				want = next.Start - tl.offset
				break
			}
			s = next
		}
		if got, _ := tl.nextChange(on); got != want {
			t.Fatalf("next change is %d, want %d", got, want)
		}
	})
}

// TestSlotsPassed compares with going through the slots one by one.
func TestSlotsPassed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlan.Draw(t, "plan")
		p.Origin %= 1 << 40
		tl := newTimeline(p, 0)
		from := p.At(p.Origin + rapid.Int64Range(0, 1e15).Draw(t, "t"))
		to, want := from, int64(0)
		for range rapid.IntRange(0, 40).Draw(t, "slots") {
			next := p.At(to.End)
			if !sameJobs(p, to.Pos, next.Pos) {
				want++
			}
			to = next
		}
		if got := tl.passed(from, to); got != want {
			t.Fatalf("from %+v to %+v: %d changes, want %d", from, to, got, want)
		}
	})
}

// sameJobs reports whether two rows have the same set of jobs.
func sameJobs(p *Plan, a, b int) bool {
	set := map[JobID]int{}
	for _, id := range p.Rows[a].Jobs {
		set[id] |= 1
	}
	for _, id := range p.Rows[b].Jobs {
		set[id] |= 2
	}
	for _, in := range set {
		if in != 3 {
			return false
		}
	}
	return true
}

// TestOffsetNeitherRepeatsNorSkips: while the offset wanders by less than the
// shortest slice, each slot is obeyed once and in its turn.
func TestOffsetNeitherRepeatsNorSkips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := New(Config{})
		now := int64(time.Second)
		slices := rapid.SliceOfN(rapid.Int64Range(4*ms, 10*ms), 2, 4).Draw(t, "slices")
		p := &Plan{Term: 1, Origin: now}
		for i, s := range slices {
			id := JobID(i + 1)
			m.Handle(now, JobAdopted(id, 0, true))
			p.Rows = append(p.Rows, Row{Index: i, Slice: time.Duration(s), Jobs: []JobID{id}})
		}
		m.Handle(now, OffsetChanged(1, 0))
		m.Handle(now, PlanArrived(p))
		on := m.slot
		for range rapid.IntRange(1, 60).Draw(t, "moves") {
			if rapid.Bool().Draw(t, "boundary") {
				now, _ = m.cur.nextChange(m.slot)
			} else {
				m.Handle(now, OffsetChanged(1, rapid.Int64Range(-ms, ms).Draw(t, "offset")))
			}
			m.Handle(now, Tick())
			if m.slot != on && m.slot.Start != on.End {
				t.Fatalf("after %+v came %+v", on, m.slot)
			}
			on = m.slot
		}
		if n := m.Count(CountMissedBoundaries); n > 0 {
			t.Fatalf("%d boundaries missed", n)
		}
	})
}
