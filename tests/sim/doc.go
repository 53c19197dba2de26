// Package sim runs the real protocol code in a world of its own: some nodes, a
// network that loses, doubles, reorders, corrupts and delays, ranks that pause,
// read slowly or die, gangs that take turns; in virtual time, thousands of
// worlds in a minute.
//
// A seed is a world: its nodes, jobs, settings, faults and traffic, and every
// roll of the dice. The same seed gives the same run wherever and whenever it
// runs, so a failure is reproduced by its number and the kind of world:
//
//	go test ./tests/sim -run TestSeeds -sim.context switch -sim.seed 4711 -sim.seeds 1
//
// After every step the invariants of invariant.go are checked. What runs in the world stands behind
// the interface [Context], which has three implementations: [NewFlowContext] makes the one whose
// protocol is package flowctl alone, with any policy; [NewDriveContext] makes an image (package
// channels) with two drivers (package drive) that take turns as process and agent do, forget what
// they remembered, leave a closed end or a dead process's one to the agent alone, and ask a
// directory for addresses. About half of the seeds with the policy AckNack have the latter;
// -sim.context chooses. [NewSharedContext] is described below. Other code that has the interface
// can be put in its place with [Options].
//
// # Gangs that are switched
//
// The worlds of kind [Switch] are clusters. Real are the gang matrix and the rotation (package
// gang), the switch of each node (ctxswitch), the leaving and coming back of contexts
// (channels/residence), the drivers with their lock (channels/drive), and what each of them needs.
// The simulator's are the leader around the matrix (leader.go, after scored/leader), the switching
// thread and the stopping of processes (switching.go, after nodeagent/switcher), the agent's looks
// at contexts (sharedcontext.go, after channels/node, without its order of watching and arming),
// clocks, and messages between leader and nodes.
//
// Each world has 2 to 8 nodes and 2 to 4 gangs at a time in slices of 1 to 50 ms, and clocks that
// are up to 5 ms apart and drift. Besides the network's faults there are, each in some worlds:
// agents that are killed in anything that they do with a context or an order, half way through a
// section included, and start again (what they find is adopted: frozen or running, locks mended);
// ranks that die, with the driver lock in hand or not; processes that do not let go of it; parts of
// a job that end while the rest goes on; jobs that come, end and are ended at any instant, with the
// plan changed by each; plans that come late; another leader with another clock; a node's clock
// that is stepped; freezes that do not come in time, jobs with so many threads that they are
// stopped ahead of the ends of their slices or sit slices out (their turns are not checked),
// launches cut short; processes that write into their images what they like, after which nothing is
// checked of their jobs. Flushes whose time is over follow from these. When the faults are over the
// gangs go on taking turns until all have done their work.
//
// # Ranks with transports
//
// In the worlds of kind [Transports], which are clusters as well, ranks do rendezvous, puts, gets
// and atomics of up to 4 MiB in place of sending messages (transport.go and its neighbours). Real
// are the machines of package pm/uct, order and pull; the simulator's is what pm/uct has around
// them. Each message of a transport is a message of its context, through images, drivers and
// switches. Bulk datagrams go by the network straight to sockets that hold them while a process
// stands still, as much as there is room for. Gangs leave in the middle of each kind of operation;
// memory is taken away while it is read, and used for something else. Each byte has the number of
// the operation that wrote it, so a byte that is lost, doubled, late or another's is seen.
//
// What is not here: two processors in one image at the same moment, a driver killed between two
// stores of one frame's acceptance (channels/drive has the test), ranks of one node among each
// other (channels has them), a stream between leader and agent that breaks.
//
// It is not for measuring speed: time passes only on the wire.
package sim
