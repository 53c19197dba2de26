// Package jobstate decides what becomes of a job's part on a node, from the order to prepare it
// until its steward is given back. It is a machine without I/O: an event and the present instant
// go in, effects and the next deadline come out. Package nodeagent tells it what has happened and
// carries its effects out. What the ranks do is the steward's business (nodeagent/steward/life).
//
//	m := jobstate.New(jobstate.Config{Ranks: []uint32{0, 1}})
//	m.Step(now, jobstate.Claimed)  // Switch
//	m.Step(now, jobstate.Settled)
//	m.Step(now, jobstate.Prepared)
//	m.Step(now, jobstate.Kill)     // StopStaging, KillSteward, Watch
//	m.Step(now, jobstate.Done)     // Clear
//	m.Step(now, jobstate.Cleared)  // ReportDone, End
//
// The picture of the phases stands in ../DESIGN.md.
package jobstate
