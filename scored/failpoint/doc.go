// Package failpoint lets a daemon fail at a named point of its work, so that tests and operators
// can see how the cluster reacts: the real programs are killed, stopped or delayed exactly there,
// not at some moment nearby.
//
// The points are in one table (Table). The environment variable SCORE_FAILPOINTS
// says what happens at which of them, as a list separated by commas:
//
//	[DAEMON:]POINT=ACTION[@N]
//
//	switch.flush.begin=kill@3        the third time, end the process by signal 9
//	n1:switch.save.end=stop          on node n1, stop the process by SIGSTOP, once
//	plan.arrived=delay:20ms          each time, wait so long
//	launch.begin=error               once, go on as if the work there had failed
//	n2:clock.sample=shift:-30ms      each time, by so much
//
// DAEMON is the name of a node, or "server". With @N only the Nth passing counts;
// without, kill, stop and error happen at the first, delay and shift at each. A value
// that begins with @ names a file with such a list, of any number of lines; it is read
// again whenever it changes, and need not exist.
//
// While nothing is set a point costs one load and one predictable branch.
package failpoint
