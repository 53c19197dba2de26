// Package life is the state machine of one job's part on one node: when its ranks start, when the
// failure of a rank ends all, when no process of it is left, and when its steward may exit or take
// the next job. It is a machine without I/O: events and the present instant go in, orders and the
// next deadline come out. Package steward carries the orders out: it forks, kills and sends.
//
//	m := life.New(now, life.Config{Grace: 30 * time.Second})
//	m.AgentBack(now)
//	m.Prepare(now, life.Rules{Ranks: 4})
//	m.Prepared(now, false)
//	m.Launch(now)
//	for _, order := range m.Take() { ... } // {Start}
//
// Read types.go first (phases and orders), then life.go. ../DESIGN.md has the picture of the
// phases.
package life
