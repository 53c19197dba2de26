package ctxswitch

import (
	"score/ctxswitch/histogram"
	"time"
)

// Measure identifies a duration that is measured in every switch. The numbers are part of the
// agents' reports, so new ones go to the end.
type Measure uint8

// The measures. MeasureTable has their meanings.
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
	step          Step // the step with this duration, or Steady
}

// MeasureTable describes every measure, in the order of the ids. Reports and metrics show it as the
// table of steps.
var MeasureTable = [MeasureCount]MeasureInfo{
	{MeasureWake, "wake", "From the planned instant to the first order.", "ns", Steady},
	{MeasureRevoke, "revoke", "Taking the outgoing jobs' contexts from their processes.", "ns", Revoke},
	{MeasureStop, "stop", "Until the outgoing jobs were seen to stand still: looked for later, beside the incoming ones.", "ns", Stop},
	{MeasureFlush, "flush", "Until nothing of the outgoing jobs was in the network.", "ns", Flush},
	{MeasureSave, "save", "Taking the outgoing contexts from their channels.", "ns", Save},
	{MeasureLoad, "load", "Putting the incoming contexts on their channels.", "ns", Load},
	{MeasureGo, "go", "Thawing the incoming jobs.", "ns", Go},
	{MeasureTotal, "total", "From the planned instant to the new jobs' running.", "ns", Steady},
}

// Measures holds a histogram for each measure, in the order of MeasureTable.
// The zero value is empty and ready.
type Measures [MeasureCount]histogram.Histogram

// Observe adds a switch. It adds wake and total only if the switch has a planned instant, and steps
// only if a job took part in them. A switch that was broken off before the new jobs ran has no
// total. Observe does not allocate.
func (h *Measures) Observe(r *Record) {
	for i := range MeasureTable {
		if d, ok := MeasureTable[i].of(r); ok {
			h[i].Record(d)
		}
	}
}

// of returns the measure's duration in a switch; ok is false if the switch has none.
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
