package sim

import "time"

// Options change what runs in a world.
type Options struct {
	// Make makes the contexts; default NewContext.
	Make func(Spec) Context
	// Kind says which contexts; default Mixed.
	Kind Kind

	plant func(*cluster) // of tests: changes a cluster before it runs
}

// Result is what came of a run.
type Result struct {
	Seed      uint64
	Events    int
	Frames    int           // handed to the network
	Delivered int           // messages received by processes
	Crashed   bool          // an end died
	Switched  bool          // jobs took turns
	Driven    bool          // contexts were those of package drive
	Settle    time.Duration // from the end of all faults to the end
	Digest    uint64        // of all that happened, in order

	// Where gangs are switched.
	Switches, Restarts  int // of nodes; of agents
	Clean, CutOff, Held int // contexts that left: with all answered, without; that did not
	Unanswered          int // contexts with something unanswered when their flush began
	Early               int // jobs that were stopped ahead of the end of their slice
	Audits              int // looks at a part of a gang
	Stays               int // of them, at a gang that is off, with its contexts on their channels

	// Where ranks have transports.
	Operations, Bulk, BulkLost int                 // operations that ended; bulk datagrams, and those that did not arrive
	Frozen                     int                 // bulk datagrams that came while their process stood still
	Midway                     [operationKinds]int // operations that a process was in the middle of when it was stopped

	Err error // what did not hold
}
