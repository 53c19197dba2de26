package state

import (
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
)

// JobID numbers the jobs of a cluster from 1 on; ids are never reused.
type JobID = uint64

// Phase is the part of a job's state that the log records. (The leader's STARTING and ENDING lie
// between two phases.)
type Phase = statepb.Phase

const (
	// Queued: the job has no places.
	Queued = statepb.Phase_PHASE_QUEUED
	// Allocated: the job has places. Some of its ranks may run already, since the leader need not
	// wait for the log to start them.
	Allocated = statepb.Phase_PHASE_ALLOCATED
	// Running: the job has been in the rotation plan.
	Running = statepb.Phase_PHASE_RUNNING
	// Done: the job has its verdict, and its record is final.
	Done = statepb.Phase_PHASE_DONE
)

// Place is the part of a job on one node.
type Place struct {
	Node  string
	Ranks []uint32 // ascending
	CPUs  []uint32 // indices into the node's CPUs, ascending
	// BootID identifies the boot of the node at which the place was given. After another boot, an
	// agent that does not know the job may have lost it.
	BootID string
}

// Pair is a key-value pair that a spawning job passes to its child.
type Pair struct{ Key, Value string }

// Job is a job as the log knows it.
type Job struct {
	ID     JobID
	Spec   *scorev1.JobSpec // as finishedSpec makes it once Done
	User   *scorev1.Identity
	Parent JobID // 0: none
	// SpawnedBy is the request of its parent that spawned it; zero: unknown, or it has no parent.
	SpawnedBy NameRequest
	Preput    []Pair
	// MemoryPerNode is the memory promised to the job on each node, in bytes. Later changes of the
	// default do not affect it.
	MemoryPerNode uint64

	Phase     Phase
	Submitted int64 // cluster nanoseconds
	Started   int64 // 0: not yet
	Ended     int64 // 0: not yet

	Row      int32   // -1: no row
	Gang     JobID   // the job that founded the gang; 0: no places yet
	Places   []Place // by the first rank of each; kept after the end
	Attempts uint32  // number of times that the job was given places
	HeldCPUs uint32  // charged to its user; 0: no places yet
	// Allocated is when the job was given its places; 0: it has had none.
	Allocated int64
	// Restarts counts the restarts after ranks may have run.
	Restarts uint32
	// Because is a sentence: why the job was last put back into the queue. Empty: it never was.
	Because string
	// Ordered is the reason to requeue the job once none of its processes is left; empty: do not
	// requeue it.
	Ordered string
	// Ending is the end that the job gets once none of its processes is left; nil: not decided.
	Ending *scorev1.Verdict
	// Hold is who keeps the job in the queue; nil: nobody.
	Hold *scorev1.Hold
	// Unmet are the jobs, ascending, on which it has dependencies that are not satisfied.
	Unmet []JobID

	Verdict *scorev1.Verdict    // set when Done
	Usage   *scorev1.Usage      // charged to its user so far
	Earlier *scorev1.Usage      // usage of the earlier attempts; nil: none
	Start   *scorev1.StartTrace // how its start went; set when Done; nil if it never had places

	bytes int      // of its record; 0 until Done
	names []string // services it has published, oldest first
	// Answers holds the answers to its last requests about names that are gone, oldest first.
	Answers []NameAnswer
}

// NameRequest identifies a request about a name, so that a repeated one is recognized. The zero
// value means unknown.
type NameRequest struct {
	Job    JobID
	Node   string
	Number uint64
}

// NameAnswer is the answer to a request: the port of a name that can be read once, or no port if
// the request published a name.
type NameAnswer struct {
	Node   string
	Number uint64
	Port   string
}

// Node is a node as the log knows it.
type Node struct {
	Name        string
	Address     string
	CPUs        uint32
	MemoryBytes uint64
	Version     string
	BootID      string
	Notes       []string
	SharesCPUs  bool
	Channels    uint32 // number that the jobs of one row may have together
	// FencesByMessage: the node's stewards exchange small fence data directly.
	FencesByMessage bool
	Drain           *Drain // nil: the node takes new jobs
}

// Drain is why a node takes no new jobs. It must not be changed.
type Drain struct {
	Reason string
	By     string // user
	Since  int64  // cluster nanoseconds
	// Requeue: jobs on the node that may be started again are requeued.
	Requeue bool
}

// Name is where a service of a user's jobs can be reached.
type Name struct {
	UID     uint32
	Service string
	Port    string
	Job     JobID
	// Once: the name vanishes when it has been looked up.
	Once bool
	By   NameRequest // the request that published it
}

type nameKey struct {
	uid     uint32
	service string
}
