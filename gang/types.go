package gang

import "time"

// Bounds of nodes and requests.
const (
	// MaxRanksPerNode bounds the ranks of one job on one node: beyond it a steward would run out of
	// descriptors.
	MaxRanksPerNode = 4096
	// MaxCPUsPerNode is the most CPUs of one node; no Linux machine has more
	// than 8192, and none known above 4096.
	MaxCPUsPerNode = 4096
	// MaxTasks bounds a job, so that counts and products stay within 32 bits
	// of what one job's lists can hold in memory.
	MaxTasks = 1 << 22
	// MaxPriority bounds priorities in both directions; see MaxAgePerPoint.
	MaxPriority = 1_000_000
	// MaxTimeLimit bounds time limits, so that sums with cluster time stay
	// within int64. Ten years is as good as none.
	MaxTimeLimit = 10 * 365 * 24 * time.Hour
	// MaxMemory bounds the memory of a node and of a request (1 EiB), so that sums
	// over jobs stay within int64.
	MaxMemory = 1 << 60
	// MaxChannelsPerNode bounds the channels of a node: each that is open costs its
	// agent half a megabyte and two descriptors.
	MaxChannelsPerNode = 1024
	// MaxChannelsPerRank is the number of channels that a rank can distinguish.
	MaxChannelsPerRank = 15
)

// JobID names a job. Zero is none.
type JobID uint64

// NodeID names a node.
type NodeID string

// Node is a column of the matrix.
type Node struct {
	ID     NodeID
	CPUs   int   // 1 to MaxCPUsPerNode
	Memory int64 // bytes for jobs, all rows together
	// Channels is the number of channels that the jobs of one row can have together, including
	// guests; 0 to MaxChannelsPerNode.
	Channels int
}

// Request holds what a user asks for.
type Request struct {
	ID    JobID
	Tasks int // ranks, at least 1
	Nodes int // exact number of nodes, with ranks spread evenly; 0: as few as fit, packed
	// CPUsPerTask is the number of CPUs that each rank gets for itself. 0 means 1.
	CPUsPerTask int
	MemPerNode  int64 // bytes on each node, reserved while the job is in any row
	Channels    int   // of each rank, up to MaxChannelsPerRank; taken in each row that the job runs in
	Priority    int   // higher first and longer slices; 0 is normal

	Exclusive bool // no other job on its nodes, in any row
	// Oversubscribe lets ranks share CPUs, where the cluster has too few for
	// one rank each. Such a job gets all CPUs of its nodes in its row.
	Oversubscribe bool
	Cyclic        bool // ranks go round the nodes one by one; else in blocks

	TimeLimit time.Duration // run time, not wall time; 0: none known
	Submitted int64         // cluster time, ns: its place among equals
	Owner     OwnerID       // whose it is; see Machine.SetOwners

	// With is a running job whose gang this one joins: same row, same nodes, on CPUs
	// free there or, if there are too few, on the gang's own (spawned MPI
	// children). 0: none.
	With JobID
	// Again means that the job had places before: it is queued even if the cluster cannot hold it,
	// since missing nodes may come back.
	Again bool
	// Survives means that the job goes on when one of its nodes is removed.
	Survives bool
	// NodeList are nodes the job must include; others are added as needed.
	NodeList []NodeID
}

// Place is a job's part of one node.
type Place struct {
	Node  NodeID
	CPUs  []int // indices in the node, ascending
	Ranks []int // ascending; they use CPUs in order, round robin if there are fewer
}

// Allocation is the placement of a job. It must not be changed.
type Allocation struct {
	Job    JobID
	Gang   JobID   // the job that founded its gang; Job itself unless it joined
	Row    int     // home row
	Places []Place // in the order of nodes, see Machine
}

// Move means that a gang got another home row. CPUs and nodes stay the same.
type Move struct {
	Job      JobID
	From, To int
}

// Decision describes what a Schedule pass did. The machine has already applied it.
type Decision struct {
	Start []Allocation // in queue order, joiners first
	Move  []Move       // ascending job
}

// Empty reports whether nothing was decided.
func (d Decision) Empty() bool { return len(d.Start) == 0 && len(d.Move) == 0 }
