package gang

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func turn(index int, slice time.Duration, jobs ...JobID) RotationRow {
	return RotationRow{Index: index, Slice: slice, Jobs: jobs}
}

func TestAt(t *testing.T) {
	two := Rotation{Origin: 1000, Rows: []RotationRow{turn(4, 100, 1), turn(2, 50, 2)}}
	one := Rotation{Origin: 1000, Rows: []RotationRow{turn(4, 100, 1)}}
	none := Rotation{Origin: 1000}
	for _, c := range []struct {
		name              string
		r                 Rotation
		t                 int64
		pos               int
		start, end, round int64
	}{
		{"before", two, 999, -1, -1 << 63, 1000, 0},
		{"begin", two, 1000, 0, 1000, 1100, 0},
		{"end of a slice", two, 1099, 0, 1000, 1100, 0},
		{"boundary", two, 1100, 1, 1100, 1150, 0},
		{"second round", two, 1150, 0, 1150, 1250, 1},
		{"far on", two, 1000 + 150*1e12 + 120, 1, 1000 + 150*1e12 + 100, 1000 + 150*1e12 + 150, 1e12},
		{"alone", one, 1 << 60, 0, 1000, Never, 0},
		{"alone before", one, 0, -1, -1 << 63, 1000, 0},
		{"none", none, 5000, -1, 1000, Never, 0},
	} {
		pos, start, end, round := c.r.At(c.t)
		if pos != c.pos || start != c.start || end != c.end || round != c.round {
			t.Errorf("%s: At(%d) = %d %d %d %d, want %d %d %d %d", c.name, c.t,
				pos, start, end, round, c.pos, c.start, c.end, c.round)
		}
	}
}

func TestHas(t *testing.T) {
	r := Rotation{Rows: []RotationRow{turn(1, 100, 3, 4), turn(0, 100, 1)}}
	for _, c := range []struct {
		name string
		rows []RotationRow
		want bool
	}{
		{"same in another order", []RotationRow{turn(0, 100, 1), turn(1, 100, 3, 4)}, true},
		{"one less", []RotationRow{turn(0, 100, 1)}, false},
		{"other jobs", []RotationRow{turn(0, 100, 1), turn(1, 100, 3)}, false},
		{"other slice", []RotationRow{turn(0, 200, 1), turn(1, 100, 3, 4)}, false},
		{"other index", []RotationRow{turn(2, 100, 1), turn(1, 100, 3, 4)}, false},
	} {
		if got := r.Has(c.rows); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestNext looks at single steps; testdata/rotation.txt tells a longer story.
func TestNext(t *testing.T) {
	const lead = 5
	a, b, c := turn(0, 100, 1), turn(1, 100, 2), turn(2, 100, 3)
	// a runs from 1000 to 1100, then b.
	old := Rotation{Term: 7, Version: 9, Origin: 1000, Rows: []RotationRow{a, b}}
	for _, tc := range []struct {
		name   string
		old    Rotation
		rows   []RotationRow
		now    int64
		origin int64
		order  []int // indices
	}{
		{"first of all", Rotation{}, []RotationRow{a}, 50, 55, []int{0}},
		{"two at once", Rotation{}, []RotationRow{a, b}, 50, 55, []int{0, 1}},
		{"new beside a lone one", Rotation{Origin: 0, Rows: []RotationRow{a}}, []RotationRow{a, b}, 50, 55, []int{1, 0}},
		{"new cuts", old, []RotationRow{a, b, c}, 1040, 1045, []int{2, 0, 1}},
		{"new cuts the second", old, []RotationRow{a, b, c}, 1140, 1145, []int{2, 1, 0}},
		{"current gone", old, []RotationRow{b, c}, 1040, 1045, []int{2, 1}},
		{"current gone, nothing new", Rotation{Origin: 1000, Rows: []RotationRow{a, b, c}}, []RotationRow{b, c}, 1040, 1045, []int{1, 2}},
		{"other gone", Rotation{Origin: 1000, Rows: []RotationRow{a, b, c}}, []RotationRow{a, c}, 1040, 1100, []int{2, 0}},
		{"one left, running", old, []RotationRow{a}, 1040, 1100, []int{0}},
		{"one left, not running", old, []RotationRow{b}, 1040, 1045, []int{1}},
		{"none left", old, nil, 1040, 1045, nil},
		{"longer slice", old, []RotationRow{turn(0, 200, 1), b}, 1040, 1100, []int{1, 0}},
		{"new job in the running row", old, []RotationRow{turn(0, 100, 1, 4), b}, 1040, 1045, []int{0, 1}},
		{"new job in the other row", old, []RotationRow{a, turn(1, 100, 2, 4)}, 1040, 1045, []int{1, 0}},
		{"new job as a guest too", old, []RotationRow{turn(0, 100, 1, 3), b, c}, 1040, 1045, []int{0, 1, 2}},
		{
			"guests are no rows",
			Rotation{Origin: 1000, Rows: []RotationRow{turn(0, 100, 1, 9), turn(1, 100, 2, 9)}},
			[]RotationRow{turn(1, 100, 2, 9)},
			1040, 1045,
			[]int{1},
		},
		{"slot taken over", old, []RotationRow{turn(0, 100, 5), b}, 1040, 1045, []int{0, 1}},
		{"lead crosses the boundary", old, []RotationRow{a, b, c}, 1097, 1102, []int{2, 1, 0}},
	} {
		next := Next(tc.old, tc.rows, tc.now, lead)
		var order []int
		for _, row := range next.Rows {
			order = append(order, row.Index)
		}
		if next.Origin != tc.origin || !slices.Equal(order, tc.order) {
			t.Errorf("%s: from %d in order %v, want %d %v", tc.name, next.Origin, order, tc.origin, tc.order)
		}
		if next.Version != tc.old.Version+1 || next.Term != tc.old.Term || !next.Has(tc.rows) {
			t.Errorf("%s: %+v", tc.name, next)
		}
	}
}

// dispatcher obeys rotations as agents do and writes down who had which turns.
type dispatcher struct {
	plans []Rotation // issued, by version
	turns []had
	now   int64
}

// had is a turn of a row, which is known by its lowest job.
type had struct {
	row        JobID
	start, end int64
	cut        bool // by a new rotation, though the row was still there
}

// inForce is the highest version whose origin has come.
func (d *dispatcher) inForce(t int64) *Rotation {
	for i := len(d.plans) - 1; i >= 0; i-- {
		if d.plans[i].Origin <= t {
			return &d.plans[i]
		}
	}
	return nil
}

func (r *Rotation) has(row JobID) bool {
	return slices.ContainsFunc(r.Rows, func(have RotationRow) bool { return have.Jobs[0] == row })
}

// run goes on to the given time.
func (d *dispatcher) run(until int64) {
	for d.now < until {
		next := until
		for i := range d.plans {
			if o := d.plans[i].Origin; o > d.now {
				next = min(next, o)
			}
		}
		if r := d.inForce(d.now); r != nil {
			if pos, _, end, _ := r.At(d.now); pos >= 0 {
				next = min(next, end)
				row := r.Rows[pos].Jobs[0]
				d.note(row, next, next < end && len(r.Rows) > 1 && d.inForce(next).has(row))
			}
		}
		d.now = next
	}
	if r := d.inForce(d.now); r != nil {
		version := r.Version
		d.plans = slices.DeleteFunc(d.plans, func(p Rotation) bool { return p.Version < version })
	}
}

func (d *dispatcher) note(row JobID, until int64, cut bool) {
	if n := len(d.turns); n > 0 && d.turns[n-1].row == row && d.turns[n-1].end == d.now {
		d.turns[n-1].end, d.turns[n-1].cut = until, cut
		return
	}
	d.turns = append(d.turns, had{row, d.now, until, cut})
}

// gaps returns the longest time from the row's beginning to its first turn, and between its
// turns.
func (d *dispatcher) gaps(row JobID, begin, end int64) (first, longest int64) {
	last := begin
	first = end - begin
	for _, h := range d.turns {
		if h.row != row {
			continue
		}
		if last == begin {
			first = h.start - begin
		}
		longest = max(longest, h.start-last)
		last = h.end
	}
	return first, max(longest, end-last)
}

// TestRotationIsFair: whatever comes and goes, everybody has a turn within a bound, a gang that is
// new soon, and no row is cut twice without a whole slice between.
func TestRotationIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { runRotation(t, drawn(t), 30) })
	for seed := range uint64(50) {
		runRotation(t, seeded(seed), 300)
	}
}

const (
	testSlice   = 100
	testLead    = 2
	testMaxRows = 5
)

func runRotation(t tb, draw draw, steps int) {
	t.Helper()
	d := &dispatcher{}
	rot := Rotation{}
	var rows []RotationRow
	begun := make(map[JobID]int64)
	id := JobID(0)
	gone := func(job JobID) {
		first, longest := d.gaps(job, begun[job], d.now)
		if bound := int64(testMaxRows * (testMaxRows + 2) * testSlice); longest > bound {
			t.Fatalf("job %d had no turn for %d, bound %d: %+v", job, longest, bound, d.turns)
		}
		if bound := int64((testMaxRows+2)*testSlice + testLead); first > bound {
			t.Fatalf("job %d had its first turn after %d, bound %d: %+v", job, first, bound, d.turns)
		}
	}
	for range steps {
		switch n := len(rows); {
		case n < testMaxRows && draw(3) > 0:
			id++
			begun[id] = d.now
			rows = append(rows, turn(freeIndex(rows), testSlice, id))
		case n > 0 && draw(4) > 0:
			i := draw(n)
			gone(rows[i].Jobs[0])
			rows = slices.Delete(slices.Clone(rows), i, i+1)
		}
		if !rot.Has(rows) {
			next := Next(rot, rows, d.now, testLead)
			if next.Origin < d.now+testLead || next.Origin > d.now+testLead+testSlice || !next.Has(rows) {
				t.Fatalf("at %d: %+v follows %+v", d.now, next, rot)
			}
			rot = next
			d.plans = append(d.plans, rot)
		}
		pause := []int64{1, 5, 20, 99, 250, 1000}[draw(6)]
		d.run(d.now + pause)
	}
	checkCuts(t, d)
}

func freeIndex(rows []RotationRow) int {
	for i := 0; ; i++ {
		if !slices.ContainsFunc(rows, func(r RotationRow) bool { return r.Index == i }) {
			return i
		}
	}
}

// checkCuts: a row that was cut while others waited gets a whole slice at its next turn.
func checkCuts(t tb, d *dispatcher) {
	t.Helper()
	last := make(map[JobID]had)
	for i, h := range d.turns {
		if i == len(d.turns)-1 {
			break // still under way
		}
		before, seen := last[h.row]
		if seen && before.cut && h.cut && h.end-h.start < testSlice {
			t.Fatalf("row of job %d was cut twice: %+v, %+v", h.row, before, h)
		}
		last[h.row] = h
	}
}

// TestBurst: one long job and a stream of short ones, which come as soon as they can. The long one
// still gets about half of the time.
func TestBurst(t *testing.T) {
	d := &dispatcher{}
	rot := Rotation{}
	long := turn(0, testSlice, 1)
	rng := rand.New(rand.NewPCG(1, 1))
	id := JobID(1)
	for range 1000 {
		rows := []RotationRow{long}
		for i := range 1 + rng.IntN(3) {
			id++
			rows = append(rows, turn(i+1, testSlice, id))
		}
		rot = Next(rot, rows, d.now, testLead)
		d.plans = append(d.plans, rot)
		d.run(d.now + int64(1+rng.IntN(60)))
	}
	var ran int64
	for _, h := range d.turns {
		if h.row == 1 {
			ran += h.end - h.start
		}
	}
	if share := float64(ran) / float64(d.now); share < 0.4 {
		t.Fatalf("the long job got %.2f of the time", share)
	}
}

// TestNextForgets: a rotation does not hold on to all that were before it.
func TestNextForgets(t *testing.T) {
	rot := Rotation{}
	for i := range 100 {
		rot = Next(rot, []RotationRow{turn(0, 100, 1), turn(1, 100, JobID(2+i))}, int64(i), 3)
	}
	depth := 0
	for r := &rot; r != nil; r = r.before {
		depth++
	}
	if depth > 2 {
		t.Fatalf("%d rotations are remembered", depth)
	}
}

// TestNextKeepsInput: rows come from Machine.Rows, which may not be changed.
func TestNextKeepsInput(t *testing.T) {
	rows := []RotationRow{turn(0, 100, 1), turn(1, 100, 2), turn(2, 100, 3)}
	old := Rotation{Origin: 0, Rows: slices.Clone(rows)}
	given := []RotationRow{turn(1, 100, 2), turn(2, 100, 3), turn(3, 100, 4)}
	want := slices.Clone(given)
	Next(old, given, 150, 1)
	if !reflect.DeepEqual(given, want) || !reflect.DeepEqual(old.Rows, rows) {
		t.Fatalf("changed to %+v and %+v", given, old.Rows)
	}
}

// A plan may be asked for with an earlier instant than the one before it: the
// lead shrinks when round trips do.
func TestNextBeforeTheLastOrigin(t *testing.T) {
	rows := func(jobs ...JobID) (rows []RotationRow) {
		for i, j := range jobs {
			rows = append(rows, RotationRow{Index: i, Slice: 100 * time.Millisecond, Jobs: []JobID{j}})
		}
		return rows
	}
	r := Next(Rotation{Term: 1}, rows(1, 2), 1e9, 50*time.Millisecond)
	r = Next(r, rows(1, 2, 3), 1e9, time.Millisecond)
	if !r.Has(rows(1, 2, 3)) {
		t.Errorf("rows %v", r.Rows)
	}
}
