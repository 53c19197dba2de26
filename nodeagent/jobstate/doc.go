// Package jobstate is the state machine of a job's part on a node, from the order to prepare it
// until its steward is returned to the pool. It is a machine without I/O: an event and the present
// instant go in, effects and the next deadline come out. Package jobs gives it the events and
// applies the effects. The steward has a machine for the ranks (nodeagent/steward/life). Read
// types.go first.
//
//	m := jobstate.New(jobstate.Config{Ranks: []uint32{0, 1}})
//	m.Step(now, jobstate.Claimed)  // Switch
//	m.Step(now, jobstate.Settled)
//	m.Step(now, jobstate.Prepared)
//	m.Step(now, jobstate.Kill)     // StopStaging, KillSteward, Watch
//	m.Step(now, jobstate.Done)     // Clear
//	m.Step(now, jobstate.Cleared)  // ReportDone, End
//
// ../DESIGN.md has a picture of the phases.
package jobstate
