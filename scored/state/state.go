package state

import (
	"cmp"
	"maps"
	"score/scored/api/jobmap"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"slices"
)

const (
	// DefaultFinished is how many finished jobs are remembered by default: enough to look up the
	// jobs of a day, at about 1 KiB each.
	DefaultFinished = 1000
	// MaxFinished is the largest value that the settings accept: maxFinishedBytes in memory and in
	// each snapshot.
	MaxFinished = 100_000
	// MaxUnfinished bounds the jobs that wait or run. Each has an environment of some KiB: together
	// they stay below a few 100 MB.
	MaxUnfinished = 20000
	// MaxNamesPerJob bounds the names that one job has published. MPI programs publish a handful.
	MaxNamesPerJob = 256
	// MaxAnswersPerJob and MaxAnswerBytes bound the answers that are kept for one job's requests
	// about names that are gone. They cover the requests under way when a leader dies: one for each
	// of a few ranks, of some 100 bytes.
	MaxAnswersPerJob = 256
	MaxAnswerBytes   = 256 << 10
	// MaxNodes bounds a cluster.
	MaxNodes = jobmap.MaxNodes
)

// DefaultSettings returns the settings of a new cluster: slices of 100 ms (a switch of 150 us costs
// 0.15 %), at most eight gangs in turn (each still gets more than one slice per second), and an
// equal share of the memory for jobs that do not ask.
func DefaultSettings() *scorev1.Settings {
	return &scorev1.Settings{SliceNanos: 100e6, MaxRows: 8}
}

// State is the replicated state of the cluster. Its methods must not run concurrently with Apply.
type State struct {
	settings *scorev1.Settings
	nextJob  JobID
	nanos    int64 // of the last entry
	nodes    map[string]*Node
	jobs     map[JobID]*Job
	names    map[nameKey]*Name
	users    map[uint32]*User
	finished []JobID // by the time of their ends, at most FinishedOf(settings)
	protocol uint32  // of the log

	histories     map[uint32]*userHistory // of users with finished jobs
	finishedBytes int                     // sum of the histories

	tokens       map[string]*Token
	certificates map[string]*Certificate // by serial number

	submissions submissions

	undo []func() // undoes the entry that is being applied
}

// New returns the state of a cluster with an empty log.
func New() *State {
	return &State{
		settings: DefaultSettings(),
		nextJob:  1,
		protocol: protocol.First,
		nodes:    make(map[string]*Node),
		jobs:     make(map[JobID]*Job),
		names:    make(map[nameKey]*Name),
		users:    make(map[uint32]*User),

		histories: make(map[uint32]*userHistory),

		tokens:       make(map[string]*Token),
		certificates: make(map[string]*Certificate),

		submissions: newSubmissions(),
	}
}

// NextJob returns the id that the next job must have.
func (s *State) NextJob() JobID { return s.nextJob }

// Nanos returns the time of the last entry; no later entry may be older.
func (s *State) Nanos() int64 { return s.nanos }

// Settings returns the cluster's settings; they must not be changed.
func (s *State) Settings() *scorev1.Settings { return s.settings }

// Job returns the job with this id, or nil if it is unknown or forgotten.
func (s *State) Job(id JobID) *Job { return s.jobs[id] }

// Node returns the node with this name, or nil.
func (s *State) Node(name string) *Node { return s.nodes[name] }

// Unfinished counts the jobs that are not Done.
func (s *State) Unfinished() int { return len(s.jobs) - len(s.finished) }

// Jobs returns all jobs by id.
func (s *State) Jobs() []*Job {
	return slices.SortedFunc(maps.Values(s.jobs), func(a, b *Job) int { return cmp.Compare(a.ID, b.ID) })
}

// Finished returns the jobs that are done, by the time of their ends.
func (s *State) Finished() []*Job {
	jobs := make([]*Job, len(s.finished))
	for i, id := range s.finished {
		jobs[i] = s.jobs[id]
	}
	return jobs
}

// Nodes returns all nodes by name.
func (s *State) Nodes() []*Node {
	return slices.SortedFunc(maps.Values(s.nodes), func(a, b *Node) int { return cmp.Compare(a.Name, b.Name) })
}

// Names returns all published names by user and service.
func (s *State) Names() []*Name {
	return slices.SortedFunc(maps.Values(s.names), func(a, b *Name) int {
		return cmp.Or(cmp.Compare(a.UID, b.UID), cmp.Compare(a.Service, b.Service))
	})
}
