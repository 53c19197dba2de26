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
	// MinSlice is about the time of a switch; with shorter slices, a node would do nothing but
	// switch.
	MinSlice = 100 * time.Microsecond
	// MaxSlice keeps a mistyped slice from looking like a hang.
	MaxSlice = time.Hour
	// MaxRows is far above the number of rows whose jobs fit into a node's memory.
	MaxRows = 4096
	// MaxJobsPerRow bounds the jobs of one node in one row; a job needs a CPU, and no node has so
	// many.
	MaxJobsPerRow = 65536
	// maxInstant leaves room to add any offset to any instant (it is in the
	// year 2116 as Unix time).
	maxInstant = 1 << 62
)

// ErrBadPlan means that a plan is invalid; Validate wraps it.
var ErrBadPlan = errors.New("the rotation plan is not valid")

// Plan is one node's part of the rotation: from Origin on the rows are on one after the other, each
// for its slice, cyclically. A plan without rows stops every job.
type Plan struct {
	Term    uint64 // of the leader who made it; its clock gives the instants
	Version uint64 // counts up within a term
	Origin  int64  // cluster nanoseconds at which Rows[0] comes on first
	Rows    []Row
}

// Row is one time slot of the plan.
type Row struct {
	Index int           // the row's number in the gang matrix
	Slice time.Duration // how long it stays on
	Jobs  []JobID       // the jobs of this node that run in the row; may be empty
}

// Slot is one appearance of a row.
type Slot struct {
	Pos        int   // position in Plan.Rows; -1 in a plan without rows
	Row        int   // that row's Index
	Round      int64 // how often the plan has gone round since Origin
	Start, End int64 // cluster nanoseconds, End excluded
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

// Cycle returns the time in which every row is on once.
func (p *Plan) Cycle() time.Duration {
	var sum time.Duration
	for i := range p.Rows {
		sum += p.Rows[i].Slice
	}
	return sum
}

// At returns the slot at t, in cluster nanoseconds. The plan must be valid. Before Origin the
// rotation is extended backwards.
func (p *Plan) At(t int64) Slot {
	cycle := int64(p.Cycle())
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

// newerThan reports whether the plan has a higher term or, within the term, a higher version: only
// the newest plan is obeyed.
func (p *Plan) newerThan(term, version uint64) bool {
	if p.Term != term {
		return p.Term > term
	}
	return p.Version > version
}

// clone copies the plan, so that the caller may reuse it, and sorts the jobs of each row without
// duplicates.
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
