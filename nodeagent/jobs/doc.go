// Package jobs has the parts of jobs on a node. A part lives from the order to prepare it until its
// steward is given back.
//
// Package jobstate decides what happens to a part; this package applies the effects. Its inputs are
// the leader's orders, the stewards' messages, the notices of the switching thread, and the calls of
// servers and other agents about jobs. Options hold what it needs of the node. It calls the packages
// below it, and Options.Send for the leader; it does not know the agent around it.
package jobs
