// Package scale is a model of large clusters: it lets the real code of the gang matrix, of the
// rotation, of the clock filter and of the switch run for thousands of nodes in virtual time, and
// shows how the cost of a switch grows with their number.
//
// What the code does is real; how long the world takes for it is drawn from what was measured on a
// real cluster (Costs): waking at a boundary, each step, a heartbeat's way, the leader's work for a
// plan. Draws are independent of each other, and nothing is ever drawn that was not measured.
//
// It does not model messages between programs: package tests/sim does, with few nodes.
//
//	costs, err := scale.Recorded()
//	result, err := scale.Run(scale.Config{
//		Nodes: 1000, Mix: scale.Whole, Slice: 10 * time.Millisecond, Boundaries: 100, Costs: costs,
//	})
//	fmt.Println(result.Gang.Quantile(0.5)) // planned instant to the last node of a gang running
package scale
