package gang

import (
	"math"
	"slices"
	"time"
)

// RotationRow is one turn of the rotation.
type RotationRow struct {
	Index int // of the row in the matrix
	Slice time.Duration
	Jobs  []JobID // who runs, ascending
	// Asleep are the jobs that sleep, ascending. They have no turn and may run in every row. One
	// that wakes is let in like a gang that never ran.
	Asleep []JobID
}

// Present returns all jobs that may run in the row, those that sleep included, ascending.
func (r *RotationRow) Present() []JobID {
	if len(r.Asleep) == 0 {
		return r.Jobs
	}
	all := slices.Concat(r.Jobs, r.Asleep)
	slices.Sort(all)
	return all
}

// Rotation determines for every instant from Origin on which row runs. The leader makes it with
// Next; agents follow the clock with At. Of several rotations whose Origin has come, agents obey
// the one with the highest (Term, Version): a later version that begins earlier replaces one not
// yet begun.
type Rotation struct {
	Term, Version uint64
	Origin        int64         // cluster time, ns: the first slice of Rows[0] begins
	Rows          []RotationRow // in the order of their turns

	// State for Next, not used by agents. Rows[after:after+fresh] were let in ahead of their turn.
	// Gangs that come before their slices begin join them; later ones must wait until the slice
	// that follows theirs is over.

	before       *Rotation // in force until Origin; nil once that no longer matters
	after, fresh int
}

// Never is the end of a slice that only a new rotation ends.
const Never = math.MaxInt64

// At returns whose turn it is at cluster time t: the position in Rows, the start and end of the
// slice, and the number of completed rounds. A single row runs for ever, in round 0. The position
// is -1 before Origin and if there are no rows.
func (r *Rotation) At(t int64) (pos int, start, end, round int64) {
	switch {
	case t < r.Origin:
		return -1, math.MinInt64, r.Origin, 0
	case len(r.Rows) == 0:
		return -1, r.Origin, Never, 0
	case len(r.Rows) == 1:
		return 0, r.Origin, Never, 0
	}
	period := r.Period()
	round = (t - r.Origin) / period
	start = r.Origin + round*period
	for pos = range r.Rows {
		end = start + int64(r.Rows[pos].Slice)
		if t < end {
			break
		}
		start = end
	}
	return pos, start, end, round
}

// Period returns the length of a round in ns, the sum of all slices.
func (r *Rotation) Period() int64 {
	sum := int64(0)
	for i := range r.Rows {
		sum += int64(r.Rows[i].Slice)
	}
	return sum
}

// Has reports whether the rotation already consists of these rows, in any order. Then no new one
// is needed.
func (r *Rotation) Has(rows []RotationRow) bool {
	if len(rows) != len(r.Rows) {
		return false
	}
	for _, row := range rows {
		same := func(have RotationRow) bool {
			return have.Index == row.Index && have.Slice == row.Slice &&
				slices.Equal(have.Jobs, row.Jobs) && slices.Equal(have.Asleep, row.Asleep)
		}
		if !slices.ContainsFunc(r.Rows, same) {
			return false
		}
	}
	return true
}

// Next makes the rotation that follows old when the rows have become the given ones, see
// Machine.Rows. It takes effect no sooner than lead from now, so that agents have it by then:
//
//   - at once, when the row whose turn it is has gone, or there is at most one;
//   - at once, when a gang has never run, or has slept: its row comes first, so that users do not wait for a
//     program to begin. The interrupted rotation goes on after it with the row that was cut, which
//     gets a whole slice. That slice must be over before the next gang is let in ahead of its turn, and where there
//     was no other row, the slices of all that were let in: a burst of short jobs slows the others, but starves none;
//   - else at the end of the slice.
func Next(old Rotation, rows []RotationRow, now int64, lead time.Duration) Rotation {
	t := now + int64(lead)
	cur := old.inForce(t)
	pos, _, end, _ := cur.At(t)
	turns, cutting := cur.turns(rows, pos)
	fresh, rest := cur.splitFresh(turns, t)

	origin := t
	if cutting && (len(fresh) == 0 || len(cur.guarding(t)) > 0) {
		origin = end
		if len(rest) > 0 && rest[0].Index == cur.Rows[pos].Index {
			rest = append(rest[1:], rest[0])
		}
	}
	next := Rotation{Term: old.Term, Version: old.Version + 1, Origin: origin}
	next.arrange(fresh, rest, cur.guarding(origin))
	cur.before = nil
	next.before = &cur
	return next
}

// inForce returns the rotation that agents obey at t.
func (r *Rotation) inForce(t int64) Rotation {
	for r.Origin > t && r.before != nil {
		r = r.before
	}
	return *r
}

// turns returns rows in the order of their turns in r from position pos on, new ones last, and
// whether a change now would cut a slice.
func (r *Rotation) turns(rows []RotationRow, pos int) (turns []RotationRow, cutting bool) {
	left := slices.Clone(rows)
	for i := range r.Rows {
		was := &r.Rows[(max(pos, 0)+i)%len(r.Rows)]
		at := slices.IndexFunc(left, func(row RotationRow) bool { return continues(&row, was) })
		if at < 0 {
			continue
		}
		cutting = cutting || (i == 0 && pos >= 0 && len(r.Rows) > 1)
		turns = append(turns, left[at])
		left = slices.Delete(left, at, at+1)
	}
	return append(turns, left...), cutting
}

// continues reports whether row is the successor of was: the same slot with a job in common.
func continues(row, was *RotationRow) bool {
	return row.Index == was.Index && slices.ContainsFunc(row.Jobs, was.runs)
}

func (r *RotationRow) runs(id JobID) bool {
	_, found := slices.BinarySearch(r.Jobs, id)
	return found
}

// splitFresh separates the rows that must come first, so that each job that has not run by t runs
// in one of them.
func (r *Rotation) splitFresh(turns []RotationRow, t int64) (fresh, rest []RotationRow) {
	begun := make(map[JobID]bool)
	pending := r.fresh > 0 && t <= r.endOf(r.after)
	for i := range r.Rows {
		if pending && i >= r.after && i < r.after+r.fresh {
			continue
		}
		for _, id := range r.Rows[i].Jobs {
			begun[id] = true
		}
	}
	for _, row := range turns {
		isFresh := false
		for _, id := range row.Jobs {
			if !begun[id] {
				begun[id], isFresh = true, true
			}
		}
		if isFresh {
			fresh = append(fresh, row)
		} else {
			rest = append(rest, row)
		}
	}
	return fresh, rest
}

// endOf returns the end of the first n slices.
func (r *Rotation) endOf(n int) int64 {
	end := r.Origin
	for i := range n {
		end += int64(r.Rows[i%len(r.Rows)].Slice)
	}
	return end
}

// guarding returns the rows whose slices must be over before a gang may be let in ahead of its
// turn, none if it may at time t: up to the row that follows those let in last, and where nobody
// else was there, the last of these. At the instant at which those let in begin, others may still
// join them.
func (r *Rotation) guarding(t int64) []RotationRow {
	begin := r.endOf(r.after)
	switch {
	case len(r.Rows) < 2:
		return nil
	case t < begin && r.after > 0:
		return r.waiting(0, r.after, t)
	case r.fresh == len(r.Rows) && t > begin:
		return r.waiting(0, r.fresh, t)
	case r.fresh > 0 && t > begin:
		return r.waiting(r.after, r.after+r.fresh+1, t)
	}
	return nil
}

// waiting returns the rows from one turn to another, exclusive, whose slices are not over at t.
func (r *Rotation) waiting(from, to int, t int64) (rows []RotationRow) {
	for i := from; i < to; i++ {
		if t < r.endOf(i+1) {
			rows = append(rows, r.Rows[i%len(r.Rows)])
		}
	}
	return rows
}

// arrange puts fresh rows first or, under guard, right after the last guarding row that is still
// there.
func (r *Rotation) arrange(fresh, rest, guards []RotationRow) {
	for i := range rest {
		if slices.ContainsFunc(guards, func(guard RotationRow) bool { return continues(&rest[i], &guard) }) {
			r.after = i + 1
		}
	}
	r.Rows = slices.Concat(rest[:r.after], fresh, rest[r.after:])
	r.fresh = len(fresh)
}
