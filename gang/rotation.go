package gang

import (
	"math"
	"slices"
	"time"
)

// RotationRow is one turn of the rotation.
type RotationRow struct {
	Index int // the row's index in the matrix
	Slice time.Duration
	Jobs  []JobID // jobs that run, ascending
	// Asleep are the sleeping jobs, ascending. They have no turn and may run in every row. A gang
	// that wakes is let in like one that has never run.
	Asleep []JobID
}

// Present returns all jobs that may run in the row, sleeping ones included, ascending.
func (r *RotationRow) Present() []JobID {
	if len(r.Asleep) == 0 {
		return r.Jobs
	}
	all := slices.Concat(r.Jobs, r.Asleep)
	slices.Sort(all)
	return all
}

// Rotation defines which row runs at each instant from Origin on. The leader makes it with Next;
// agents evaluate it with At. If the Origins of several rotations have passed, agents obey the
// rotation with the highest (Term, Version): a later version that begins earlier replaces one that
// has not begun.
type Rotation struct {
	Term, Version uint64
	Origin        int64         // cluster time in ns at which the first slice of Rows[0] begins
	Rows          []RotationRow // in the order of their turns

	// What Next must remember, of no use to agents. Rows[after:after+fresh] are those let in ahead
	// of their turn. Gangs that come before their slices begin join them; later ones must wait
	// until the slice that follows theirs is over.

	before       *Rotation // in force until Origin; nil if no longer needed
	after, fresh int
}

// Never is the end of a slice that ends only with a new rotation.
const Never = math.MaxInt64

// At returns the turn at cluster time t: the position in Rows, the start and end of the slice, and
// the number of completed rounds. A single row runs for ever, in round 0. The position is -1 before
// Origin and in a rotation without rows.
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

// Period returns the length of a round in ns: the sum of all slices.
func (r *Rotation) Period() int64 {
	sum := int64(0)
	for i := range r.Rows {
		sum += int64(r.Rows[i].Slice)
	}
	return sum
}

// Has reports whether the rotation consists of exactly these rows, in any order, so that no new
// rotation is needed.
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

// Next returns the rotation that follows old when the rows become the given ones, see Machine.Rows.
// It begins no sooner than lead from now, so that agents have received it:
//
//   - at once if the row that has its turn was removed, or if there is at most one row;
//   - at once if a gang has never run, or has slept: its row comes first, so that users do not wait
//     for a program to begin. The interrupted rotation then continues with the row that was cut,
//     which gets a whole slice. Before the next gang may be let in ahead of its turn, that slice must
//     be over, or, if there was no other row, the slices of all gangs that were let in. So a burst
//     of short jobs slows other jobs but does not starve them;
//   - otherwise at the end of the slice.
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

// turns returns rows in the order of their turns in r from position pos on, new rows last. cutting
// reports whether a change now would cut a slice.
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

// continues reports whether row is the successor of was: it has the same index and a job in common.
func continues(row, was *RotationRow) bool {
	return row.Index == was.Index && slices.ContainsFunc(row.Jobs, was.runs)
}

func (r *RotationRow) runs(id JobID) bool {
	_, found := slices.BinarySearch(r.Jobs, id)
	return found
}

// splitFresh separates the rows that must come first: with these, each job that has not run by t
// runs in one of them.
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

// guarding returns the rows that must have their slices before a gang may be let in ahead of its
// turn; none if it may be let in at time t. The last of these is the row after those let in last
// or, without other rows, the last of those. At the instant at which the rows let in last begin,
// others may still join them.
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

// waiting returns the rows of the turns from (inclusive) to to (exclusive) whose slices are not
// over at t.
func (r *Rotation) waiting(from, to int, t int64) (rows []RotationRow) {
	for i := from; i < to; i++ {
		if t < r.endOf(i+1) {
			rows = append(rows, r.Rows[i%len(r.Rows)])
		}
	}
	return rows
}

// arrange sets Rows: fresh rows come first or, if there are guards, right after the last guard that
// still exists.
func (r *Rotation) arrange(fresh, rest, guards []RotationRow) {
	for i := range rest {
		if slices.ContainsFunc(guards, func(guard RotationRow) bool { return continues(&rest[i], &guard) }) {
			r.after = i + 1
		}
	}
	r.Rows = slices.Concat(rest[:r.after], fresh, rest[r.after:])
	r.fresh = len(fresh)
}
