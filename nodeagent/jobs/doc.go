// Package jobs has the parts of jobs on a node, each from the order to prepare it until its steward
// is given back.
//
// Package jobstate decides what happens to a part; this package carries that out. It takes what the
// leader orders, what the stewards report, what the switching thread notices, and the calls of
// servers and other agents about jobs. What it needs of the node stands in Options. It calls the
// packages below it and, for the leader, Options.Send; it knows nothing of the agent around it.
package jobs
