package gang

import "time"

// Bounds of nodes and requests.
const (
	// MaxRanksPerNode bounds the ranks of one job on one node: with more, a steward would run out
	// of descriptors.
	MaxRanksPerNode = 4096
	// MaxCPUsPerNode is the most CPUs of one node; no Linux machine has more
	// than 8192, and none known above 4096.
	MaxCPUsPerNode = 4096
	// MaxTasks bounds a job, so that counts and products stay within 32 bits and a job's lists fit
	// into memory.
	MaxTasks = 1 << 22
	// MaxPriority bounds priorities in both directions; see MaxAgePerPoint.
	MaxPriority = 1_000_000
	// MaxTimeLimit bounds time limits, so that sums with cluster time stay within int64. Ten years
	// are as good as no limit.
	MaxTimeLimit = 10 * 365 * 24 * time.Hour
	// MaxMemory bounds the memory of a node and of a request (1 EiB), so that sums
	// over jobs stay within int64.
	MaxMemory = 1 << 60
	// MaxChannelsPerNode bounds the channels of a node: each open channel costs its agent half a
	// megabyte and two descriptors.
	MaxChannelsPerNode = 1024
	// MaxChannelsPerRank is the highest number of channels that a rank can distinguish.
	MaxChannelsPerRank = 15
)

// JobID identifies a job. Zero means no job.
type JobID uint64

// NodeID is the name of a node.
type NodeID string

// Node is a column of the matrix.
type Node struct {
	ID     NodeID
	CPUs   int   // 1 to MaxCPUsPerNode
	Memory int64 // bytes for jobs, in all rows together
	// Channels is the highest number of channels that the jobs of one row can have together, guests
	// included; 0 to MaxChannelsPerNode.
	Channels int
}

// Request is what a user asks for.
type Request struct {
	ID    JobID
	Tasks int // ranks, at least 1
	Nodes int // exactly this many nodes, ranks spread evenly; 0: as few as fit, packed
	// CPUsPerTask is the number of CPUs for each rank alone. 0 means 1.
	CPUsPerTask int
	MemPerNode  int64 // bytes on each node, reserved while the job is in any row
	Channels    int   // of each rank, up to MaxChannelsPerRank; taken in each row in which the job runs
	Priority    int   // higher first and longer slices; 0 is normal

	Exclusive bool // no other job on its nodes, in any row
	// Oversubscribe lets ranks share CPUs if the cluster has too few for one rank each. Such a job
	// gets all CPUs of its nodes in its row.
	Oversubscribe bool
	Cyclic        bool // ranks go to the nodes in turn, one by one; otherwise in blocks

	TimeLimit time.Duration // run time, not wall time; 0: no limit
	Submitted int64         // cluster time in ns; it orders jobs of equal priority
	Owner     OwnerID       // the user who owns the job; see Machine.SetOwners

	// With is a running job. The new job joins its gang (spawned MPI children do so): same row,
	// same nodes, on free CPUs there or, if there are too few, on the gang's own. 0: none.
	With JobID
	// Again means that the job has had places before. It is queued even if the cluster cannot hold
	// it, since the missing nodes may come back.
	Again bool
	// Survives means that the job continues when one of its nodes is removed.
	Survives bool
	// NodeList holds nodes that the job must include; other nodes are added as needed.
	NodeList []NodeID
	// Exclude holds nodes that the job must not get. A name that the cluster does not have counts
	// when a node of that name comes.
	Exclude []NodeID
}

// Place is a job's part of one node.
type Place struct {
	Node  NodeID
	CPUs  []int // indices in the node, ascending
	Ranks []int // ascending; they use CPUs in order, round robin if there are fewer
}

// Allocation is the place of a job. It must not be changed.
type Allocation struct {
	Job    JobID
	Gang   JobID   // the first job of its gang; Job itself unless it joined another
	Row    int     // home row
	Places []Place // in the order of nodes, see Machine
}

// Move means that a job's gang got another home row. CPUs and nodes stay the same.
type Move struct {
	Job      JobID
	From, To int
}

// Decision holds the results of a Schedule pass. The machine has applied them already.
type Decision struct {
	Start []Allocation // in queue order, joiners first
	Move  []Move       // ascending job
}

// Empty reports whether a decision holds nothing.
func (d Decision) Empty() bool { return len(d.Start) == 0 && len(d.Move) == 0 }
