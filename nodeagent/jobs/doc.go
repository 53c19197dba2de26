// Package jobs holds the parts of jobs on a node. A part lives from the order to prepare it until
// its steward is returned to the pool.
//
// Package jobstate is the state machine of a part; this package applies its effects. Its inputs are
// the leader's orders (orders.go), the stewards' messages (events.go), the notices of the switching
// thread, and the calls of servers and other agents about jobs (peerservice.go). It calls the
// packages below it, and Options.Leader; it does not know the agent around it. Read
// job.go and effects.go first.
package jobs
