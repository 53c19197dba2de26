// Package gang decides where and when parallel programs run. It implements the gang matrix of
// Ousterhout (1982): placement, the queue and the rotation plan that node agents follow.
//
// A gang is all ranks of a job on all its nodes, with any jobs that joined it. It is placed as a
// whole in one row (a time slot), runs as a whole when its row has its turn, and also in every
// other row in which all its CPUs are free. All rows share memory, since descheduled gangs stay in
// RAM.
//
// The package is a state machine without I/O. Input: nodes (AddNode, SetDrain), requests (Submit,
// Remove) and the cluster's time. Output: decisions (Schedule), the rows (Rows), from which Next
// makes the rotation plan, and explanations for users (Explain). It has no goroutine, clock, log or
// random source, so equal calls give equal results on every replica. It starts no process, measures
// nothing and forgets jobs that have ended. A Machine is not safe for concurrent use; one goroutine
// owns it.
//
//	m := gang.New(gang.Config{})
//	err := m.AddNode(gang.Node{ID: "n1", CPUs: 8})
//	err = m.Submit(gang.Request{ID: 1, Tasks: 4})
//	decision := m.Schedule(now)                       // which jobs start, and where
//	plan = gang.Next(plan, m.Rows(), now, lead)      // which row runs when
//
// Read types.go and machine.go first, then schedule.go (one pass over the queue), place.go (where a
// job fits), backfill.go (which jobs may overtake) and rotation.go (the plan). DESIGN.md has a
// picture and the reasons.
package gang
