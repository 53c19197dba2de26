package leader

import (
	"cmp"
	"maps"
	"score/gang"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/scored/state"
	"slices"
	"time"
)

// Short names for the states of a job; DESIGN.md draws them.
const (
	// queued: the job waits for a place in the gang matrix.
	queued = scorev1.JobState_JOB_STATE_QUEUED
	// starting: the job has its places, and its nodes were told to prepare it. None of its ranks
	// runs, unless an earlier leader gave it its places (job.inherited).
	starting = scorev1.JobState_JOB_STATE_STARTING
	// running: every node has prepared the job, and it is in the rotation plan.
	running = scorev1.JobState_JOB_STATE_RUNNING
	// ending: the job has its verdict, and its nodes were told to kill what is left.
	ending = scorev1.JobState_JOB_STATE_ENDING
	// done: nothing of the job runs; its end is committed or about to be.
	done = scorev1.JobState_JOB_STATE_DONE
	// unknown is the zero value; no job is in this state.
	unknown = scorev1.JobState_JOB_STATE_UNSPECIFIED
)

// Deadlines in the life of a job, with their reasons.
const (
	// prepareTimeout is how long a node may take to prepare a job: reading a program from a slow
	// network file system takes seconds.
	prepareTimeout = 30 * time.Second
	// launchTimeout is how long a node may take to start the ranks of a job that is in the plan,
	// beside launchRounds rounds of the plan. Forking takes milliseconds; on a busy machine a rank
	// that is being forked when its gang goes off waits for the gang's next turn.
	launchTimeout = time.Minute
	launchRounds  = 2
	// endTimeout is how long a node may take to report the end of a job that it was told to kill.
	// The kernel kills at once, unless a process hangs in a driver or file system; then no order
	// helps.
	endTimeout = 30 * time.Second
	// killAgain is the interval at which the order is repeated, in case an agent lost it in a
	// restart.
	killAgain = 2 * time.Second
	// OwnerGrace is how long a job goes on without the scrun that owns it: long enough to connect
	// again, and short enough not to waste CPUs.
	OwnerGrace = 10 * time.Second
	// maxAttempts bounds how often a job is given other nodes because one was lost while the job
	// was starting.
	maxAttempts = 3
	// maxNotes bounds the warnings that are kept for later attachments.
	maxNotes = 16
)

// part is a job's part on one node.
type part struct {
	state.Place
	sent          bool // this leader has sent the order to prepare
	prepared      bool
	launched      bool
	done          bool               // no process of the job is left there
	lost          bool               // the node was lost, or has lost the part: what is left there must end
	outputUnknown bool               // an earlier leader's job is done, and the node has not reported yet whether it keeps output of it
	start         *scorev1.NodeStart // reported by the node; nil: nothing
	usage         *scorev1.Usage
	rates         rates
	cut           *agentpb.Cut // the node's last report on the ranks' sleep; nil: none, or they are awake
}

// job is the controller's state of a job, until everybody concerned knows its end.
type job struct {
	id      uint64
	spec    *scorev1.JobSpec
	listed  *scorev1.JobSpec // spec for other users
	user    *scorev1.Identity
	parent  *job // its spawner, if that is not forgotten, or nil
	parents uint64
	// spawnedBy is the request of its parent that spawned it; zero: none, or unknown.
	spawnedBy state.NameRequest
	preput    []state.Pair
	memory    int64            // bytes promised on each node
	bytes     int              // that spec takes in memory, without what is shared with the parent
	own       *scorev1.JobSpec // spec of a spawned job without what is shared with the parent, until it is in the log
	request   gang.Request
	key       *Key           // of its submission to this leader; nil: none
	charged   *scorev1.Usage // charged to its user so far
	earlier   *scorev1.Usage // usage of earlier attempts; nil: nothing

	attempt
	attempts  uint32 // how often it was given places
	restarts  uint32 // attempts after ranks may have run
	because   string // why it was last requeued; empty: it never was
	submitted int64
	ended     int64
	// queuedAfter is how many commands this leader had decided before those of the job; 0: an
	// earlier leader queued it.
	queuedAfter uint64

	hold  *scorev1.Hold                     // who keeps it in the queue; nil: nobody
	unmet map[uint64]scorev1.DependencyKind // dependencies that are not satisfied, by the job that they are on

	ownerDeadline int64 // when it ends without an owner; 0: none
	watchers      []*Attachment
	notes         []string
	staged        []string // nodes that were told to fetch and keep its files, the seed first
	children      []*job   // spawned by it, not forgotten
	// outputLost: some of the output is lost; a note says which.
	outputLost bool

	placeAsks []placeAsk // where it is, asked by other jobs while it is queued
}

// attempt is the part of a job's state that begins again when the job is put back into the queue.
type attempt struct {
	state     scorev1.JobState
	allocated int64            // 0: it has no places
	ready     int64            // when all nodes were prepared, as far as this leader knows; 0: they are not
	started   int64            // 0: no rank was started
	row       int              // -1: none
	founder   gang.JobID       // of the gang
	parts     []*part          // by node; kept after the end
	byNode    map[string]*part // index of parts, made when needed; nil when parts change
	// inherited: an earlier leader gave the job its places. It may have sent a plan too, so the
	// ranks may run although the job is starting.
	inherited bool
	idle      *idleness // nil: its ranks were never all asleep

	exits    map[uint32]bool // ranks whose exits were counted
	code     int32           // highest exit code so far
	codeRank int32           // the rank with that code, or noRank
	codeNode string
	// verdict is set when it is decided, and is final once the job is done.
	verdict   *scorev1.Verdict
	decidedAt int64 // when the verdict's rank failed; 0: none did
	// again is why an ending job will be queued again; empty: it will not.
	again string
	// restarting: the job will be queued again, and ranks have run or may have.
	restarting bool

	deadline     int64 // of its state; 0: none
	killDeadline int64 // when its end is no longer awaited
	graceUntil   int64 // until when its ranks may end by SIGTERM; 0: they got none, or were killed since

	unstored     string // which output its nodes could not store; empty: none
	spawned      spawns
	childVerdict *scorev1.Verdict // of the first child that failed after this job had ended, or else of the one with the highest code; nil: none
	childEnds    []childEnd       // of the latest children that left by themselves
	// outputRead: a client has fetched all its output.
	outputRead bool
	// forgotten: its nodes were told that its end is committed.
	forgotten bool
}

// sortedJobs returns all jobs, by number.
func (c *controller) sortedJobs() []*job {
	return slices.SortedFunc(maps.Values(c.jobs), func(x, y *job) int { return cmp.Compare(x.id, y.id) })
}

// newAttempt returns the state of a job that waits for places.
func newAttempt() attempt { return attempt{state: queued, row: -1, codeRank: noRank} }

func (j *job) active() bool { return j.state != queued && j.state != done }

// mayRun reports whether ranks of a job that is not ending run, or may.
func (j *job) mayRun() bool { return j.state == running || j.state == starting && j.inherited }

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

// owners counts the attachments that keep the job running.
func (j *job) owners() int {
	n := 0
	for _, w := range j.watchers {
		if w.options.Owner {
			n++
		}
	}
	return n
}

// reading reports whether a client may still want output of the job.
func (j *job) reading() bool {
	for _, w := range j.watchers {
		if w.options.Output {
			return true
		}
	}
	return j.parent != nil && j.parent.reading()
}

// needsOwner reports whether the job ends without an owner, since its output has no other reader.
func (j *job) needsOwner() bool { return !j.spec.GetDetached() && j.parents == 0 }
