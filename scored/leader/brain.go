package leader

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"score/gang"
	"score/scored/api/scorev1"
	"score/scored/state"
)

// controller is the working copy of all that the leader knows, and makes every
// decision. It does no I/O: what it decides lies in the outbox. It is owned by
// one goroutine and lives as long as one leadership.
type controller struct {
	outbox
	cluster string
	version string
	// protocol is that in which the log is written.
	protocol uint32
	term     uint64
	// singleUser: jobs without --mem are neither promised memory nor limited.
	singleUser bool
	jobSecret  []byte // Options.JobSecret
	// shareCPUs: jobs too large for the CPUs that there are share them.
	shareCPUs bool
	now       int64 // cluster nanoseconds of the input being handled
	began     int64 // when this leadership did

	gang      *gang.Machine
	settings  *scorev1.Settings
	jobs      map[uint64]*job // all that have not ended, and those that linger
	nextJob   uint64
	entered   map[submission]entered // under keys that the state does not have yet
	nodes     map[string]*node
	names     map[nameKey]name
	members   members
	lookups   []nameWait // that wait, oldest first
	placeAsks []placeAsk // likewise
	toStage   []*job     // whose files are to be told of
	asks      map[uint64]*ask
	nextAsk   uint64
	timers    timers
	accounts  map[uint32]*account      // of users with jobs, and of those of whom the state knows
	look      func(func(*state.State)) // looks at what is committed
	weighAt   int64                    // when users are charged next; 0: there is no job
	sharedAt  int64                    // when users were last given their points
	shareAt   int64                    // when somebody who came since gets some; 0: nobody did

	rotation   gang.Rotation
	planTime   int64 // no plan takes effect before
	placeDirty bool  // Schedule may decide something
	planDirty  bool  // the rows may have changed
	ringDirty  bool  // the nodes that watch each other may have changed

	stats Stats
	over  chan struct{} // closed when it is let go
}

// Stats are counts since this server began to lead.
type Stats struct {
	Submitted uint64
	Launches  uint64
	Ended     map[scorev1.EndReason]uint64
	Plans     uint64 // rotation plans made
	// Idle and Deadlocked count running jobs that sleep; the first includes the second.
	Idle, Deadlocked int
	Rows             int // of the present plan
	NodesUp          int
	Jobs             map[scorev1.JobState]int
}

// newController makes the picture that follows from the committed state. What nodes
// know beyond it they tell when they connect.
func newController(cluster, version string, term uint64, s *state.State, now int64) *controller {
	b := &controller{
		cluster: cluster, version: version, protocol: s.Protocol(), term: term, now: now, began: now,
		settings: s.Settings(),
		jobs:     make(map[uint64]*job),
		nextJob:  s.NextJob(),
		entered:  make(map[submission]entered),
		nodes:    make(map[string]*node),
		names:    make(map[nameKey]name),
		members:  newMembers(s),
		accounts: make(map[uint32]*account),
		look:     func(f func(*state.State)) { f(s) },
		asks:     make(map[uint64]*ask),
		rotation: gang.Rotation{Term: term},
		over:     make(chan struct{}),
		stats:    Stats{Ended: make(map[scorev1.EndReason]uint64)},
	}
	b.gang = gang.New(gangConfig(b.settings))
	for _, record := range s.Nodes() {
		b.restoreNode(record)
	}
	for _, record := range s.Users() {
		b.accounts[record.UID] = newAccount(record)
	}
	jobs := s.Jobs()
	for _, record := range jobs {
		b.restoreEnded(record, s.Nanos())
	}
	for _, record := range jobs {
		if record.Phase == state.Allocated || record.Phase == state.Running {
			b.restoreJob(record)
		}
	}
	for _, record := range jobs { // the matrix wants them after those with places
		if record.Phase == state.Queued {
			b.restoreJob(record)
		}
	}
	b.reunite()
	b.goOnOrdered(jobs)
	b.restoreNames(s)
	b.shareOut()
	b.placeDirty, b.planDirty = true, true
	return b
}

// numbers are those that a controller has given out of which agents know.
type numbers struct {
	term, plan uint64 // of the newest plan
	planTime   int64
	ask        uint64
}

func (b *controller) numbers() numbers {
	return numbers{term: b.term, plan: b.rotation.Version, planTime: b.planTime, ask: b.nextAsk}
}

// goOn numbers on from a controller that was given up in the same term: agents obey only plans that are
// newer than those they have seen.
func (b *controller) goOn(from numbers) {
	if from.term == b.term {
		b.rotation.Version, b.planTime, b.nextAsk = from.plan, from.planTime, from.ask
	}
}

func (b *controller) restoreNode(record *state.Node) {
	n := &node{
		name: record.Name, address: record.Address, cpus: record.CPUs, memory: record.MemoryBytes,
		version: record.Version, bootID: record.BootID, notes: record.Notes, sharesCPUs: record.SharesCPUs, channels: record.Channels,
		drain: record.Drain, since: b.now, byLetter: record.FencesByLetter,
	}
	b.nodes[n.name] = n
	if err := b.gang.AddNode(n.column()); err != nil {
		b.log("a committed node does not fit: " + err.Error())
		return
	}
	n.inMatrix = true
	b.open(n)
	b.setNodeDeadline(n, NodeGrace)
}

// restoreJob takes over a job from the log. Nodes hold its parts, or will say
// that they do not.
func (b *controller) restoreJob(record *state.Job) {
	j := &job{
		id: record.ID, spec: record.Spec, listed: listedSpec(record.Spec), user: record.User,
		parents: record.Parent, parent: b.jobs[record.Parent], preput: record.Preput,
		charged: record.Usage,
		state:   queued, submitted: record.Submitted, started: record.Started, attempts: record.Attempts, allocated: record.Allocated,
		restarts: record.Restarts, because: record.Because, earlier: record.Earlier,
		row: -1, codeRank: noRank, bytes: proto.Size(record.Spec),
	}
	j.memory = int64(min(record.MemoryPerNode, gang.MaxMemory))
	j.request = j.requestOf()
	j.request.Again = j.restarts > 0
	b.adopt(j)
	if j.needsOwner() {
		b.awaitOwner(j)
	}
	if record.Phase == state.Queued {
		if err := b.gang.Submit(j.request); err != nil {
			b.conclude(j, verdict(cluster, exitCluster, "after the server's restart the job no longer fits: %s; submit it again", plain(err)))
		}
		return
	}
	b.restorePlaces(j, record)
}

func (b *controller) restorePlaces(j *job, record *state.Job) {
	allocation := gang.Allocation{Job: gang.JobID(j.id), Gang: gang.JobID(record.Gang), Row: int(record.Row)}
	for _, p := range record.Places {
		j.parts = append(j.parts, &part{Place: p})
		allocation.Places = append(allocation.Places, gang.Place{Node: gang.NodeID(p.Node), CPUs: widen(p.CPUs), Ranks: widen(p.Ranks)})
	}
	j.row, j.founder, j.inherited = allocation.Row, allocation.Gang, true
	j.state = starting
	if record.Phase == state.Running {
		j.state = running
	}
	if err := b.gang.Restore(j.request, allocation); err != nil {
		b.end(j, verdict(cluster, exitCluster, "after the server's restart the job's places could not be kept: %s; submit it again", plain(err)))
		return
	}
	if j.state == starting {
		b.gang.SetIdle(gang.JobID(j.id), true)
		b.setDeadline(j, prepareTimeout+stageTime(j.spec))
	}
}

// adopt enters a job into the table.
func (b *controller) adopt(j *job) {
	b.jobs[j.id] = j
	b.owns(j, 1)
	b.weighLater()
	if j.parent != nil {
		j.parent.children = append(j.parent.children, j)
	}
}

func gangConfig(s *scorev1.Settings) gang.Config {
	return gang.Config{
		MaxRows: int(s.GetMaxRows()), Slice: time.Duration(s.GetSliceNanos()),
		AgePerPoint: time.Duration(s.GetAgePerPointNanos()), WeightStep: int(s.GetWeightStep()),
	}
}

// advance does what is due and then what follows from all inputs since the
// last time: placements and a new plan. It is called after every batch.
func (b *controller) advance() {
	for {
		t, ok := b.timers.next(b.now)
		if !ok {
			break
		}
		b.expire(t)
	}
	// Placing can end jobs (that fit no more), and ends make place.
	for b.placeDirty {
		b.placeDirty = false
		b.place()
	}
	b.stage()
	if b.planDirty {
		b.planDirty = false
		b.replan()
	}
	if b.ringDirty {
		b.ringDirty = false
		b.tellRing()
	}
}

func (b *controller) expire(t timer) {
	switch t.kind {
	case timerJob:
		if j := b.jobs[t.id]; j != nil && j.deadline == t.at {
			j.deadline = 0
			b.step(j, evLate{})
		}
	case timerOwner:
		if j := b.jobs[t.id]; j != nil && j.ownerDeadline == t.at {
			j.ownerDeadline = 0
			b.ownerLate(j)
		}
	case timerNode:
		if n := b.nodes[t.node]; n != nil && n.deadline == t.at {
			n.deadline = 0
			b.nodeLate(n)
		}
	case timerIdle:
		if j := b.jobs[t.id]; j != nil && j.idle != nil && j.idle.deadline == t.at {
			j.idle.deadline = 0
			b.idleLate(j)
		}
	case timerWeigh:
		if t.at == b.weighAt {
			b.weigh()
		}
	case timerShare:
		if t.at == b.shareAt {
			b.shareOut()
		}
	case timerAsk:
		if a := b.asks[t.id]; a != nil {
			b.finishAsk(a)
		}
	}
}

// place lets the matrix decide, and carries its decisions out.
func (b *controller) place() {
	decision := b.gang.Schedule(b.now)
	for _, move := range decision.Move {
		b.moved(move)
	}
	for _, allocation := range decision.Start {
		if j := b.jobs[uint64(allocation.Job)]; j != nil {
			b.step(j, evPlaced{})
		}
	}
	if !decision.Empty() {
		b.planDirty = true
	}
}

// plain is an error as a sentence for users.
func plain(err error) string { return fmt.Sprint(err) }
