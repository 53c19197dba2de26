package ctxswitch

import "slices"

// timeline is a plan with the clock that converts its instants to this node's.
type timeline struct {
	plan     Plan
	present  bool  // there is a plan
	clocked  bool  // offset is known; without it the plan cannot be followed
	offset   int64 // cluster nanoseconds minus local nanoseconds
	accepted int64 // local instant from which the plan could be followed
	cycle    int64 // nanoseconds until the first row comes on again

	// changes[i] is true if row i and the row before it have different jobs: only at such
	// boundaries there is work.
	changes []bool
	// perCycle is the number of true elements of changes.
	perCycle int64
}

// newTimeline returns a timeline with a copy of p.
func newTimeline(p *Plan, accepted int64) timeline {
	t := timeline{plan: p.clone(), present: true, accepted: accepted, cycle: int64(p.cycle())}
	rows := t.plan.Rows
	t.changes = make([]bool, len(rows))
	for i := range rows {
		before := (i + len(rows) - 1) % len(rows)
		if !slices.Equal(rows[i].Jobs, rows[before].Jobs) {
			t.changes[i] = true
			t.perCycle++
		}
	}
	return t
}

// cluster converts a local instant to a cluster instant.
func (t *timeline) cluster(local int64) int64 { return local + t.offset }

// local converts a cluster instant to a local instant.
func (t *timeline) local(cluster int64) int64 { return cluster - t.offset }

// begun reports whether the plan can be followed at the local instant now.
func (t *timeline) begun(now int64) bool {
	return t.present && t.clocked && t.cluster(now) >= t.plan.Origin
}

// find returns the slot at the local instant now; on is the last slot obeyed. An offset that became
// smaller must not bring back the slot before on, whose end was acted upon: within a cycle the
// clock stands still until it has caught up. A larger step back is not an adjustment but another
// clock, which is obeyed.
func (t *timeline) find(now int64, on Slot) Slot {
	c := t.cluster(now)
	if c < on.End && c > on.Start-t.cycle {
		return on
	}
	return t.plan.At(c)
}

// nextChange returns the local instant of the first boundary after the slot on at which the set of
// jobs changes, and the row that comes on then; or Never.
func (t *timeline) nextChange(on Slot) (at int64, pos int) {
	if t.perCycle == 0 {
		return Never, 0
	}
	rows := t.plan.Rows
	at, pos = on.End, (on.Pos+1)%len(rows)
	for !t.changes[pos] {
		at += int64(rows[pos].Slice)
		pos = (pos + 1) % len(rows)
	}
	return t.local(at), pos
}

// before returns the row before the one at pos.
func (t *timeline) before(pos int) *Row {
	rows := t.plan.Rows
	return &rows[(pos+len(rows)-1)%len(rows)]
}

// has reports whether the row at pos has the job.
func (t *timeline) has(pos int, j *job) bool {
	_, ok := slices.BinarySearch(t.plan.Rows[pos].Jobs, j.id)
	return ok && t.plan.newerThan(j.after)
}

// passed counts the changes at boundaries after the slot from, up to and
// including the start of the slot to.
func (t *timeline) passed(from, to Slot) int64 {
	if t.perCycle == 0 {
		return 0
	}
	return t.changesUpTo(to) - t.changesUpTo(from)
}

// changesUpTo counts the changes since Origin, including the start of the slot itself.
func (t *timeline) changesUpTo(s Slot) int64 {
	n := s.Round * t.perCycle
	for _, changed := range t.changes[:s.Pos+1] {
		if changed {
			n++
		}
	}
	return n
}
