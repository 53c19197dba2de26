package leader

import (
	"score/gang"
	"score/scored/api/scorev1"
	"score/scored/state"
	"score/scored/state/statepb"
	"time"
)

// Shorthands for the states of a job; DESIGN.md draws them.
const (
	// queued: waits for a place in the gang matrix.
	queued = scorev1.JobState_JOB_STATE_QUEUED
	// starting: has its places; its nodes have been told to prepare it. Nothing
	// of it runs, unless this leader has taken it over (job.inherited).
	starting = scorev1.JobState_JOB_STATE_STARTING
	// running: every node has prepared it, and it is in the rotation plan.
	running = scorev1.JobState_JOB_STATE_RUNNING
	// ending: has its verdict; its nodes have been told to kill what is left.
	ending = scorev1.JobState_JOB_STATE_ENDING
	// done: nothing of it runs; its end is committed or about to be.
	done = scorev1.JobState_JOB_STATE_DONE
	// unknown is the state of no job.
	unknown = scorev1.JobState_JOB_STATE_UNSPECIFIED
)

// Deadlines in the life of a job, and why they are what they are.
const (
	// prepareTimeout is how long a node may take to make a job ready: reading a
	// program from a slow network file system takes seconds.
	prepareTimeout = 30 * time.Second
	// endTimeout is how long a node may take to report the end of a job that it
	// was told to kill. The kernel kills at once, unless a process hangs in a
	// driver or file system, which no order can help.
	endTimeout = 30 * time.Second
	// killAgain is how often the order is repeated meanwhile, in case an agent
	// lost it while it was restarted.
	killAgain = 2 * time.Second
	// OwnerGrace is how long a job goes on without the scrun that owns it: long
	// enough to connect again, short enough that nobody wonders who uses the CPUs.
	OwnerGrace = 10 * time.Second
	// maxAttempts bounds how often a job is given other nodes because one was
	// lost while the job was starting.
	maxAttempts = 3
	// maxNotes bounds the warnings that are kept until somebody attaches.
	maxNotes = 16
)

// part is a job's part on one node.
type part struct {
	state.Place
	sent          bool // the order to prepare has been given by this leader
	prepared      bool
	launched      bool
	done          bool               // no process of it is left there
	lost          bool               // its node was, or the node has lost it: what is left there must end
	outputUnknown bool               // an earlier leader's job is done, and the node has not said yet whether it keeps output of it
	start         *scorev1.NodeStart // what the node said of its start; nil: nothing
	usage         *scorev1.Usage
	rates         rates
	cut           *scorev1.Cut // what the node said last of its ranks' sleep; nil: nothing, or they are awake
}

// job is the controller's picture of a job that has not ended, or whose end is not
// yet known to all who must know.
type job struct {
	id      uint64
	spec    *scorev1.JobSpec
	listed  *scorev1.JobSpec // spec as other users may see it
	user    *scorev1.Identity
	parent  *job // that spawned it and is not forgotten, or nil
	parents uint64
	preput  []state.Pair
	memory  int64            // promised on each node, bytes
	bytes   int              // of spec, as it is kept; without what it has of its parent
	own     *scorev1.JobSpec // of a spawned job that is not in the log yet: spec without what it has of its parent
	request gang.Request
	key     *Key           // under which it was submitted to this leader; nil: none
	charged *scorev1.Usage // what its user has been charged
	earlier *scorev1.Usage // what the attempts before this one have used; nil: nothing

	state     scorev1.JobState
	submitted int64
	allocated int64 // 0: it has no places
	ready     int64 // when all nodes were, as far as this leader knows; 0: they are not
	started   int64 // 0: no rank has been started
	ended     int64
	attempts  uint32
	restarts  uint32 // attempts that began it again after ranks may have run
	because   string // why it was last put back into the queue; empty: it never was
	row       int
	founder   gang.JobID       // of its gang
	parts     []*part          // in the order of nodes; kept after the end
	byNode    map[string]*part // of parts, made when first needed; nil when they change
	// inherited: an earlier leader gave it its places, and perhaps sent a plan
	// with it, so its ranks may run although it is starting.
	inherited bool

	exits    map[uint32]bool // ranks whose exit has been counted
	code     int32           // highest exit code so far
	codeRank int32           // the rank that gave it, or noRank
	codeNode string
	// verdict is set when it is decided; it is what counts once done.
	verdict   *scorev1.Verdict
	decidedAt int64 // when the rank failed that the verdict names; 0: none did
	// again says why an ending job is to be queued again; empty: it is not.
	again string
	// restarting: with again, ranks of it have run, or may have.
	restarting bool

	idle          *idleness // nil: its ranks were never found asleep
	deadline      int64     // of its state, 0: none
	killDeadline  int64     // when its end is no longer waited for
	ownerDeadline int64     // when it ends for want of an owner, 0: none
	watchers      []*Attachment
	notes         []string
	staged        []string            // nodes that were told to fetch its files and keep them, the seed first
	children      []*job              // spawned by it, not forgotten
	childVerdict  *scorev1.Verdict    // of the first of them that failed after it had ended, or else left with the highest code; nil: none
	childEnds     []childEnd          // of the latest that left by themselves
	names         int                 // that it has published
	replies       replies             // to requests of names
	spawned       map[spawnKey]uint64 // children by the request that made them
	// outputLost: some of its output is lost; a note says which.
	outputLost bool
	// outputRead: a client has fetched all its output.
	outputRead bool
	// forgotten: its nodes have been told that its end is committed.
	forgotten bool
}

func (j *job) active() bool { return j.state != queued && j.state != done }

func (j *job) part(node string) *part {
	if j.byNode == nil && len(j.parts) > 0 {
		j.byNode = make(map[string]*part, len(j.parts))
		for _, p := range j.parts {
			j.byNode[p.Node] = p
		}
	}
	return j.byNode[node]
}

func (j *job) all(is func(*part) bool) bool {
	for _, p := range j.parts {
		if !is(p) {
			return false
		}
	}
	return true
}

// owners counts the attachments whose loss ends the job.
func (j *job) owners() int {
	n := 0
	for _, w := range j.watchers {
		if w.options.Owner {
			n++
		}
	}
	return n
}

// reading reports whether somebody may still want output of the job.
func (j *job) reading() bool {
	for _, w := range j.watchers {
		if w.options.Output {
			return true
		}
	}
	return j.parent != nil && j.parent.reading()
}

// needsOwner reports whether the job lives on its owner's behalf: its output has
// nowhere else to go.
func (j *job) needsOwner() bool { return !j.spec.GetDetached() && j.parents == 0 }

// usage sums what the nodes have reported.
func (j *job) usage() *scorev1.Usage {
	sum := &scorev1.Usage{}
	for _, p := range j.parts {
		sum.CpuNanos += p.usage.GetCpuNanos()
		sum.LateFreezes += p.usage.GetLateFreezes()
		sum.RunNanos = max(sum.RunNanos, p.usage.GetRunNanos())
		sum.Slices = max(sum.Slices, p.usage.GetSlices())
		sum.SwitchNanos = max(sum.SwitchNanos, p.usage.GetSwitchNanos())
		sum.MaxRssBytes = max(sum.MaxRssBytes, p.usage.GetMaxRssBytes())
		sum.Messages = addMessages(sum.Messages, p.usage.GetMessages())
		sum.Fences = meetFences(sum.Fences, p.usage.GetFences())
	}
	return addEarlier(sum, j.earlier)
}

// addEarlier adds what earlier attempts have used.
func addEarlier(sum, earlier *scorev1.Usage) *scorev1.Usage {
	if earlier == nil {
		return sum
	}
	sum.CpuNanos += earlier.GetCpuNanos()
	sum.LateFreezes += earlier.GetLateFreezes()
	sum.RunNanos += earlier.GetRunNanos()
	sum.Slices += earlier.GetSlices()
	sum.SwitchNanos += earlier.GetSwitchNanos()
	sum.MaxRssBytes = max(sum.MaxRssBytes, earlier.GetMaxRssBytes())
	sum.Messages = addMessages(sum.Messages, earlier.GetMessages())
	if was, is := earlier.GetFences(), sum.GetFences(); was != nil {
		sum.Fences = &scorev1.Fences{
			Fences: add(was.GetFences(), is.GetFences()), PlainBytes: add(was.GetPlainBytes(), is.GetPlainBytes()),
			PackedBytes: add(was.GetPackedBytes(), is.GetPackedBytes()),
		}
	}
	return sum
}

// placesOf returns a gang's places as the log keeps them.
func placesOf(a gang.Allocation) []*statepb.Place {
	places := make([]*statepb.Place, len(a.Places))
	for i, p := range a.Places {
		places[i] = &statepb.Place{Node: string(p.Node), Ranks: narrow(p.Ranks), Cpus: narrow(p.CPUs)}
	}
	return places
}

func narrow(values []int) []uint32 {
	out := make([]uint32, len(values))
	for i, v := range values {
		out[i] = uint32(v)
	}
	return out
}

func widen(values []uint32) []int {
	out := make([]int, len(values))
	for i, v := range values {
		out[i] = int(v)
	}
	return out
}
