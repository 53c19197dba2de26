package state

import (
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
)

// JobID numbers the jobs of a cluster from 1 on; ids are never used again.
type JobID = uint64

// Phase is how far a job has come, as far as the log must know. (What the
// leader shows as STARTING and ENDING is between two of them.)
type Phase = statepb.Phase

const (
	// Queued: has no places.
	Queued = statepb.Phase_PHASE_QUEUED
	// Allocated: has places; perhaps some of its ranks run already, since the
	// leader need not wait for the log to start them.
	Allocated = statepb.Phase_PHASE_ALLOCATED
	// Running: has been in the rotation plan.
	Running = statepb.Phase_PHASE_RUNNING
	// Done: has its verdict; nothing about it changes any more.
	Done = statepb.Phase_PHASE_DONE
)

// Place is a job's part on one node.
type Place struct {
	Node  string
	Ranks []uint32 // ascending
	CPUs  []uint32 // indices into the node's CPUs, ascending
	// BootID is that of the node's agent when the place was given: an agent of
	// another one that does not know the job may have lost it.
	BootID string
}

// Pair is a key-value pair that a spawning job hands to its child.
type Pair struct{ Key, Value string }

// Job is what the log knows of a job.
type Job struct {
	ID     JobID
	Spec   *scorev1.JobSpec // without environment and limits once Done
	User   *scorev1.Identity
	Parent JobID // 0: none
	Preput []Pair
	// MemoryPerNode is what it is promised on each node, in bytes: a change of
	// the default does not change it.
	MemoryPerNode uint64

	Phase     Phase
	Submitted int64 // cluster nanoseconds
	Started   int64 // 0: not yet
	Ended     int64 // 0: not yet

	Row      int32   // -1: none
	Gang     JobID   // the job that founded its gang; 0: no places yet
	Places   []Place // by rank of the first of them; kept after the end
	Attempts uint32  // how often it was given places
	HeldCPUs uint32  // for which its user is charged; 0: no places yet
	// Allocated is when it was given its places; 0: it has had none.
	Allocated int64
	// Restarts is how often it was restarted after its ranks may have run.
	Restarts uint32
	// Because is why it was last put back into the queue, a sentence; empty: it never was.
	Because string
	// Ordered is why it is to be put back, when none of its processes is left; empty: it is not.
	Ordered string
	// Ending is how it is to end, when none of its processes is left; nil: that is not decided.
	Ending *scorev1.Verdict

	Verdict *scorev1.Verdict    // set when Done
	Usage   *scorev1.Usage      // what its user has been charged
	Earlier *scorev1.Usage      // what the attempts before this one have used; nil: nothing
	Start   *scorev1.StartTrace // how its start went; set when Done, nil if it never had places

	names []string // services it has published, in that order
	// Answers are those to its last requests about names that are gone, the oldest first.
	Answers []NameAnswer
}

// NameRequest is what a request about a name is known by when it is made again. The zero one is
// unknown.
type NameRequest struct {
	Job    JobID
	Node   string
	Number uint64
}

// NameAnswer is what a request was granted: the port of a name that can be read once, none if it
// published one.
type NameAnswer struct {
	Node   string
	Number uint64
	Port   string
}

// Node is what the log knows of a node.
type Node struct {
	Name        string
	Address     string
	CPUs        uint32
	MemoryBytes uint64
	Version     string
	BootID      string
	Notes       []string
	SharesCPUs  bool
	Channels    uint32 // that jobs of one row may have
	// FencesByMessage: its stewards exchange by themselves what is small.
	FencesByMessage bool
	Drain           *Drain // nil: it may have new jobs
}

// Drain says why a node takes no new jobs. It must not be changed.
type Drain struct {
	Reason string
	By     string // user
	Since  int64  // cluster nanoseconds
	// Requeue: its jobs that may be started again are.
	Requeue bool
}

// Name says where a service of a user's jobs is.
type Name struct {
	UID     uint32
	Service string
	Port    string
	Job     JobID
	// Once: it vanishes when it has been looked up.
	Once bool
	By   NameRequest // the request that published it
}

type nameKey struct {
	uid     uint32
	service string
}
