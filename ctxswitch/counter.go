package ctxswitch

// Counter identifies a counter of a machine.
type Counter uint8

// The counters. CounterTable has their meanings.
const (
	CountSwitches Counter = iota
	CountSuperseded
	CountMissedBoundaries
	CountLateFreezes
	CountLateSteps
	CountLaunches
	CountWarnings
	CountStalePlans
	CountRefusedEvents
	CountStaleAnswers
	CountStays
	CountEarlyStops
	CountSatOut
)

// counterCount is the number of counters.
const counterCount = int(CountSatOut) + 1

// CounterInfo describes a counter.
type CounterInfo struct {
	ID            Counter
	Name, Meaning string
	Unit          string
}

// CounterTable describes every counter, in the order of the ids.
var CounterTable = [counterCount]CounterInfo{
	{CountSwitches, "switches", "Switches that ran to their end.", "switches"},
	{CountSuperseded, "switches_superseded", "Switches broken off since another row or plan came on.", "switches"},
	{CountMissedBoundaries, "boundaries_missed", "Boundaries with a switch that passed before the agent woke.", "boundaries"},
	{CountLateFreezes, "freezes_late", "Freezes that did not come in time; the switch went on without them.", "freezes"},
	{CountLateSteps, "steps_late", "Answers to other steps that did not come in time.", "answers"},
	{CountLaunches, "launches", "Jobs ordered to start.", "jobs"},
	{CountWarnings, "warnings", "Users told that their job does not stop in time.", "warnings"},
	{CountStalePlans, "plans_stale", "Plans ignored since a newer one had been seen.", "plans"},
	{CountRefusedEvents, "events_refused", "Plans and clock offsets ignored since they were out of range.", "events"},
	{CountStaleAnswers, "answers_stale", "Answers to orders that had been replaced by others.", "answers"},
	{CountStays, "contexts_stayed", "Contexts that stayed on their channels when their job left.", "contexts"},
	{CountEarlyStops, "stops_ahead", "Jobs stopped ahead of a boundary, as that takes long.", "jobs"},
	{CountSatOut, "slices_sat_out", "Slices in which a job stood still for what its stops cost others.", "slices"},
}

// Count returns the present value of a counter. Counters only grow.
func (m *Machine) Count(c Counter) uint64 { return m.counters[c] }
