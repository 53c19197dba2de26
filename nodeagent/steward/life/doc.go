// Package life decides what becomes of one job's part on one node: when its
// ranks start, when the failure of one ends all, when nothing of it is left,
// and when its steward may go or take the next job. It is a machine without I/O: events and the
// present instant go in, orders and the next deadline come out. It forks,
// kills and sends nothing itself; package steward does.
//
//	m := life.New(now, life.Config{Grace: 30 * time.Second})
//	m.AgentBack(now)
//	m.Prepare(now, life.Rules{Ranks: 4})
//	m.Prepared(now, true, false)
//	m.Launch(now)
//	for _, order := range m.Take() { ... } // {Start}
//
// The picture of the phases stands in ../DESIGN.md.
package life
