package ctxswitch

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// JobID identifies a job in the whole cluster.
type JobID uint64

// Bounds of a plan. They keep a damaged or hostile plan from stopping the
// node: no division by zero, no overflow of an instant, no endless table.
const (
	// MinSlice is the time that a switch itself may take. With shorter slices, a node would only
	// switch.
	MinSlice = 100 * time.Microsecond
	// MaxSlice prevents that a mistyped slice looks like a hang.
	MaxSlice = time.Hour
	// MaxRows is far more than fits into a node's memory.
	MaxRows = 4096
	// MaxJobsPerRow bounds the jobs of one row on one node. A job needs a CPU, and no node has so
	// many.
	MaxJobsPerRow = 65536
	// maxInstant leaves room to add any offset to any instant. As Unix time it is in the year 2116.
	maxInstant = 1 << 62
)

// ErrBadPlan means that a plan is invalid. Validate wraps it.
var ErrBadPlan = errors.New("the rotation plan is not valid")

// Plan is the rotation as one node needs it. From Origin on, the rows run in turn, each for its
// slice, for ever. A plan without rows stops every job.
type Plan struct {
	Term    uint64 // of the leader that made it; instants are those of its clock
	Version uint64 // increases within a term
	Origin  int64  // cluster nanoseconds at which Rows[0] comes on for the first time
	Rows    []Row
}

// Row is one time slot of the plan.
type Row struct {
	Index int           // the row's number in the gang matrix
	Slice time.Duration // how long it stays on
	Jobs  []JobID       // this node's jobs that run in it; may be empty
}

// Slot is one turn of a row.
type Slot struct {
	Pos        int   // position in Plan.Rows; -1 in a plan without rows
	Row        int   // that row's Index
	Round      int64 // completed rounds of the plan since Origin
	Start, End int64 // cluster nanoseconds, End exclusive
}

// Validate returns an error if a machine cannot follow the plan.
func (p *Plan) Validate() error {
	if p.Origin < 0 || p.Origin >= maxInstant {
		return fmt.Errorf("%w: origin %d is out of range", ErrBadPlan, p.Origin)
	}
	if len(p.Rows) > MaxRows {
		return fmt.Errorf("%w: %d rows, at most %d can be", ErrBadPlan, len(p.Rows), MaxRows)
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Slice < MinSlice || r.Slice > MaxSlice {
			return fmt.Errorf("%w: row %d has a slice of %v, it must be from %v to %v",
				ErrBadPlan, r.Index, r.Slice, MinSlice, MaxSlice)
		}
		if len(r.Jobs) > MaxJobsPerRow {
			return fmt.Errorf("%w: row %d has %d jobs, at most %d can be",
				ErrBadPlan, r.Index, len(r.Jobs), MaxJobsPerRow)
		}
	}
	return nil
}

// cycle returns the time in which every row runs once.
func (p *Plan) cycle() time.Duration {
	var sum time.Duration
	for i := range p.Rows {
		sum += p.Rows[i].Slice
	}
	return sum
}

// At returns the slot at t, in cluster nanoseconds. The plan must be valid. Before Origin, At
// extends the rotation into the past.
func (p *Plan) At(t int64) Slot {
	cycle := int64(p.cycle())
	if cycle == 0 {
		return Slot{Pos: -1, Row: -1, Start: p.Origin, End: maxInstant}
	}
	round, phase := (t-p.Origin)/cycle, (t-p.Origin)%cycle
	if phase < 0 {
		round, phase = round-1, phase+cycle
	}
	start, pos := t-phase, 0
	for phase >= int64(p.Rows[pos].Slice) {
		phase -= int64(p.Rows[pos].Slice)
		start += int64(p.Rows[pos].Slice)
		pos++
	}
	return Slot{
		Pos:   pos,
		Row:   p.Rows[pos].Index,
		Round: round,
		Start: start,
		End:   start + int64(p.Rows[pos].Slice),
	}
}

// planID identifies a plan. The zero value is older than all plans.
type planID struct{ term, version uint64 }

func (p *Plan) id() planID { return planID{p.Term, p.Version} }

// newerThan reports whether the plan is newer: it has a higher term or, in the same term, a higher
// version. Only newer plans are obeyed.
func (p *Plan) newerThan(other planID) bool {
	if p.Term != other.term {
		return p.Term > other.term
	}
	return p.Version > other.version
}

// clone returns a copy of the plan in which each row has its jobs in ascending order, without
// duplicates. The caller may reuse the original.
func (p *Plan) clone() Plan {
	c := *p
	c.Rows = slices.Clone(p.Rows)
	for i := range c.Rows {
		jobs := slices.Clone(c.Rows[i].Jobs)
		slices.Sort(jobs)
		c.Rows[i].Jobs = slices.Compact(jobs)
	}
	return c
}
