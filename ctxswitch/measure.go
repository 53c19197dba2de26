package ctxswitch

import (
	"score/ctxswitch/histogram"
	"time"
)

// Measure identifies a duration that is measured in every switch. Agents report the numbers, so new
// ones go to the end.
type Measure uint8

// The measures; MeasureTable has the meanings.
const (
	MeasureWake Measure = iota
	MeasureRevoke
	MeasureStop
	MeasureFlush
	MeasureSave
	MeasureLoad
	MeasureGo
	MeasureTotal
)

// MeasureCount is the number of measures.
const MeasureCount = int(MeasureTotal) + 1

// MeasureInfo describes a measure.
type MeasureInfo struct {
	ID            Measure
	Name, Meaning string
	Unit          string
	step          Step // whose duration it is, or Steady
}

// MeasureTable describes every measure, in the order of the ids: the step table
// of reports and metrics.
var MeasureTable = [MeasureCount]MeasureInfo{
	{MeasureWake, "wake", "From the planned instant to the first order.", "ns", Steady},
	{MeasureRevoke, "revoke", "Taking the outgoing jobs' contexts from their processes.", "ns", Revoke},
	{MeasureStop, "stop", "Until the outgoing jobs were known to stand still; where nothing waits for that, it is found out at the next instant.", "ns", Stop},
	{MeasureFlush, "flush", "Until nothing of the outgoing jobs was in the network.", "ns", Flush},
	{MeasureSave, "save", "Taking the outgoing contexts from their channels.", "ns", Save},
	{MeasureLoad, "load", "Putting the incoming contexts on their channels.", "ns", Load},
	{MeasureGo, "go", "Thawing the incoming jobs.", "ns", Go},
	{MeasureTotal, "total", "From the planned instant to the new jobs' running.", "ns", Steady},
}

// Measures holds a histogram for each measure, in the order of MeasureTable.
// The zero value is empty and ready.
type Measures [MeasureCount]histogram.Histogram

// Observe adds a switch. Wake and total exist only for switches with a planned instant, and steps
// only if a job had work in them; a switch that was broken off before the new jobs ran has no
// total. It allocates nothing.
func (h *Measures) Observe(r *Record) {
	for i := range MeasureTable {
		if d, ok := MeasureTable[i].of(r); ok {
			h[i].Record(d)
		}
	}
}

// of returns the measure's duration in a switch.
func (info *MeasureInfo) of(r *Record) (d time.Duration, ok bool) {
	switch info.ID {
	case MeasureWake:
		return r.Wake(), r.Cause == CauseBoundary
	case MeasureTotal:
		d, ok = r.Total()
		return d, ok && r.Cause == CauseBoundary
	default:
		return r.Took(info.step)
	}
}
