package pmi

// The limits that PMI-1 clients get. They are exactly hydra's: MPICH 4.0 splits long values by
// arithmetic on VALLen that fails for odd numbers, and lowers it itself if the sum of the three
// exceeds its line of 1024 bytes.
const (
	MaxKVSName = 256
	MaxKey     = 64
	MaxValue   = 1024
)

// Bounds on what ranks can make a server keep. A hostile rank may fill its own
// share and end its job, never the memory of the node.
const (
	// MaxRanks bounds the size of a job; the per-rank tables stay below 100 MB.
	MaxRanks = 1 << 20
	// MaxRankKeys bounds the distinct keys of one rank. MPICH puts two in its
	// init and a few per dynamic connection.
	MaxRankKeys = 1 << 16
	// MaxRankBytes bounds keys and values of one rank. A UCX address card takes
	// about 1 KB.
	MaxRankBytes = 16 << 20
	// MaxJobBytes bounds keys and values of all ranks together, and the data of
	// one fence: 256 MiB are cards of 1 KB from 250,000 ranks.
	MaxJobBytes = 256 << 20
	// MaxCardKey bounds a key that is committed by scope: PMIX_MAX_KEYLEN.
	MaxCardKey = 511
	// MaxGroups bounds the sets of processes with collectives of their own; a program makes a few
	// communicators that its library announces.
	MaxGroups = 4096
	// MaxGroupProcs bounds the processes of all groups together.
	MaxGroupProcs = 1 << 20
	// MaxGroupName bounds the name of a group: Open MPI's names of communicators have 1,024 bytes
	// at most.
	MaxGroupName = 1024
	// MaxCodes bounds the kinds of events that one rank registers for.
	MaxCodes = 1024
	// MaxOtherJobs bounds the other jobs that the ranks of a job name.
	MaxOtherJobs = 1024
	// MaxPublished bounds what is published under one name over PMIx, as text: the
	// list of a few hundred processes that Open MPI publishes when two programs
	// connect.
	MaxPublished = 16 << 10
	// maxNamePrefix bounds the prefix that a front end puts before a published key.
	maxNamePrefix = 64
	// MaxHeld bounds the requests of one rank that wait for an answer. A client
	// has one per thread.
	MaxHeld = 256
	// MaxAsked bounds the requests of a job's ranks on a node that wait for an answer from the
	// leader, which the agent keeps until then: two for each rank that a node may have.
	MaxAsked = 2 * 4096
	// MaxAskedBytes bounds the texts of these requests: a few spawn requests, or a name from each
	// rank.
	MaxAskedBytes = 8 << 20
	// MaxSpawnApps bounds the commands of one spawn request.
	MaxSpawnApps = 1024
	// MaxSpawnBytes bounds the text of one spawn request; it is the longest
	// argument list that execve takes by default.
	MaxSpawnBytes = 2 << 20
)

// maxMapping bounds PMI_process_mapping. MPICH 4.0 reads it into a buffer of
// 1024-256-64-30 bytes with a closing zero, and fails on a value that was cut.
const maxMapping = MaxValue - MaxKVSName - MaxKey - 30 - 1
