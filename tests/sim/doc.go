// Package sim runs the real protocol code in a world of its own: some nodes, a
// network that loses, doubles, reorders, corrupts and delays, ranks that pause,
// read slowly or die, gangs that take turns; in virtual time, thousands of
// worlds in a minute.
//
// A seed is a world: its nodes, jobs, settings, faults and traffic, and every
// roll of the dice. The same seed gives the same run wherever and whenever it
// runs, so a failure is reproduced by its number:
//
//	go test ./tests/sim -run TestSeeds -sim.seed 4711 -sim.seeds 1
//
// After every step the invariants of invariant.go are checked. What runs in the
// world stands behind the interface [Context], of which there are two: [NewFlowContext]
// makes the one whose protocol is package flowctl alone, with any policy; [NewDriveContext]
// makes an image (package channels) with two drivers (package drive) that take turns as
// process and agent do, forget what they remembered, leave a closed end or a dead process's
// one to the agent alone, and ask a directory for addresses. About half of the seeds with the
// policy AckNack have the latter; -sim.context chooses. Other code that has the
// interface can be put in its place with [Options].
//
// What is not here: two processors in one image at the same moment, a driver killed in the
// middle of its section (channels/drive has the test), ranks of one node among each other
// (channels has them), images that change under the agent.
//
// It is not for measuring speed: time passes only on the wire.
package sim
