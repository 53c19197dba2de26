package ctxswitch

import "time"

// Cause is the cause of a switch.
type Cause uint8

// The causes of a switch.
const (
	// CauseBoundary: a row came on at its planned instant. Only these switches
	// have a planned instant that the whole cluster knows.
	CauseBoundary Cause = iota
	// CausePlan: a plan arrived after the row that it wants had begun.
	CausePlan
	// CauseJob: a job came, or was not as the row wants it.
	CauseJob
)

// String returns the cause as a word.
func (c Cause) String() string {
	switch c {
	case CauseBoundary:
		return "boundary"
	case CausePlan:
		return "plan"
	case CauseJob:
		return "job"
	}
	return "unknown"
}

// Record describes one switch. Instants are local nanoseconds; adding Offset gives cluster
// nanoseconds.
type Record struct {
	Term, Version uint64 // of the plan
	Slot          Slot   // the row that came on; its Start is the cluster's planned instant
	Cause         Cause
	Planned       int64 // when the switch should have begun
	Offset        int64

	Steps      StepSet          // steps in which any job took part
	LateSteps  StepSet          // steps in which any job did not answer in time
	Begin, End [stepCount]int64 // of each step in Steps
	// Running is the instant at which all thawed and launched jobs ran or, without such jobs, at
	// which the node was as the row wants it. It is 0 if the switch was broken off before.
	Running int64
	// Finished is the instant of the last answer. Answers of stopped jobs may come after Running.
	Finished int64

	Out      []JobID // jobs ordered to stop
	In       []JobID // jobs ordered to continue
	Launched []JobID // jobs ordered to start
	Late     []JobID // jobs of Out that had not stopped in time
	// Superseded means that the switch was broken off because another row or plan came on before
	// the new jobs ran. The next record continues from there.
	Superseded bool
}

// Took returns the duration of a step, and whether any job took part in it.
func (r *Record) Took(s Step) (d time.Duration, ran bool) {
	return time.Duration(r.End[s] - r.Begin[s]), r.Steps.Has(s)
}

// Wake returns the delay from the planned instant to the beginning of the switch.
func (r *Record) Wake() time.Duration { return time.Duration(r.first() - r.Planned) }

// Total returns the time from the planned instant until the new jobs run; ok is false if the switch
// was broken off before.
func (r *Record) Total() (d time.Duration, ok bool) {
	return time.Duration(r.Running - r.Planned), r.Running != 0
}

// first returns the beginning of the first step in which any job took part.
func (r *Record) first() int64 {
	for s := Revoke; s <= Go; s++ {
		if r.Steps.Has(s) {
			return r.Begin[s]
		}
	}
	return r.Finished
}

// reset empties the record and keeps its memory.
func (r *Record) reset() {
	*r = Record{Out: r.Out[:0], In: r.In[:0], Launched: r.Launched[:0], Late: r.Late[:0]}
}
