package leader

import (
	"fmt"
	"score/gang"
	"score/scored/api/scorev1"
	"score/scored/leader/names"
	"score/scored/state"
	"time"
)

// config is what a controller is given when it is made. It stays for its leadership.
type config struct {
	cluster   string
	version   string
	term      uint64
	jobSecret []byte // Options.JobSecret
	// singleUser: jobs without --mem are neither promised memory nor limited.
	singleUser bool
	// shareCPUs: jobs too large for the CPUs share them.
	shareCPUs bool
	readState func(func(*state.State)) // reads the committed state
	// observeRevoked, if not nil, is called with the revoked serial numbers when they change.
	observeRevoked func(serials [][]byte)
}

// controller is the working copy of all that the leader knows, and makes every decision. It does no
// I/O: its decisions lie in the outbox. It is owned by one goroutine and lives for one leadership.
// DESIGN.md, "The controller's parts", says which part owns which state.
type controller struct {
	config
	outbox
	// protocol is the protocol of the log.
	protocol uint32
	// startNodes: jobs are refused with ErrStarting until so many nodes are connected; 0: not any
	// more.
	startNodes int
	now        int64 // cluster nanoseconds of the input being handled
	began      int64 // start of this leadership

	gang       *gang.Machine
	settings   *scorev1.Settings
	jobs       map[uint64]*job // unfinished, and lingering ones
	nextJob    uint64
	entered    map[submission]pendingSubmission // keys that the state does not have yet
	dependents dependents
	doomed     []doomed // to be ended by advance
	nodes      map[string]*node
	members    members
	accounts   accounts
	names      *names.Table
	asks       asks
	timers     timers

	rotation gang.Rotation
	planTime int64 // no later plan takes effect before

	// What advance does after the inputs of a batch.
	toStage      []*job // whose files must be staged
	placeDirty   bool   // Schedule may decide something
	planDirty    bool   // the rows may have changed
	watchesDirty bool   // the nodes that watch each other may have changed

	stats     Stats
	abandoned chan struct{} // closed when the controller is abandoned
}

// Stats are counts since this server started to lead.
type Stats struct {
	Submitted uint64
	Launches  uint64
	Ended     map[scorev1.EndReason]uint64
	Plans     uint64 // rotation plans made
	// Idle and Deadlocked count running jobs that sleep; the former includes the latter.
	Idle, Deadlocked int
	// Held and Dependent count waiting jobs that are withheld; a job may be both.
	Held, Dependent int
	Rows            int // of the present plan
	NodesUp         int
	Jobs            map[scorev1.JobState]int
}

// newController returns the controller for the committed state. Nodes report what they know beyond
// it when they connect. It does not call config.readState, since its caller is reading the state.
func newController(config config, s *state.State, now int64) *controller {
	c := &controller{
		config: config, protocol: s.Protocol(), now: now, began: now,
		settings:   s.Settings(),
		jobs:       make(map[uint64]*job),
		nextJob:    s.NextJob(),
		entered:    make(map[submission]pendingSubmission),
		dependents: make(dependents),
		nodes:      make(map[string]*node),
		members:    newMembers(s),
		accounts:   newAccounts(s),
		asks:       asks{pending: make(map[uint64]*ask)},
		rotation:   gang.Rotation{Term: config.term},
		abandoned:  make(chan struct{}),
		stats:      Stats{Ended: make(map[scorev1.EndReason]uint64)},
	}
	c.gang = gang.New(gangConfig(c.settings))
	c.names = names.New(func(node string) bool { return c.nodes[node].connected() })
	for _, record := range s.Nodes() {
		c.restoreNode(record)
	}
	jobs := s.Jobs()
	for _, record := range jobs {
		c.restoreEnded(record, s.Nanos())
	}
	for _, record := range jobs {
		if record.Phase == state.Allocated || record.Phase == state.Running {
			c.restoreJob(record)
		}
	}
	for _, record := range jobs { // the matrix needs them after those with places
		if record.Phase == state.Queued {
			c.restoreJob(record)
		}
	}
	c.linkChildren()
	c.restoreDependents(s)
	c.restoreSpawns()
	c.resumeOrders(jobs)
	c.restoreNames(s)
	c.setOwners(s.Users())
	c.placeDirty, c.planDirty = true, true
	return c
}

// addJob adds a job to the table.
func (c *controller) addJob(j *job) {
	c.jobs[j.id] = j
	c.accounts.add(j, c.now, &c.timers)
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

// advance handles due timers, then what follows from all inputs since the last call: placements and
// a new plan. It is called after every batch.
func (c *controller) advance() {
	for {
		t, ok := c.timers.next(c.now)
		if !ok {
			break
		}
		c.expire(t)
	}
	c.placeAll()
	c.stage()
	if c.planDirty {
		c.planDirty = false
		c.replan()
	}
	if c.watchesDirty {
		c.watchesDirty = false
		c.sendWatches()
	}
}

func (c *controller) expire(t timer) {
	switch t.kind {
	case timerJob:
		if j := c.jobs[t.id]; j != nil && j.deadline == t.at {
			j.deadline = 0
			c.step(j, evDeadline{})
		}
	case timerOwner:
		if j := c.jobs[t.id]; j != nil && j.ownerDeadline == t.at {
			j.ownerDeadline = 0
			c.onOwnerDeadline(j)
		}
	case timerNode:
		if n := c.nodes[t.node]; n != nil && n.deadline == t.at {
			n.deadline = 0
			c.onNodeDeadline(n)
		}
	case timerIdle:
		if j := c.jobs[t.id]; j != nil && j.idle != nil && j.idle.deadline == t.at {
			j.idle.deadline = 0
			c.onIdleDeadline(j)
		}
	case timerWeigh:
		if t.at == c.accounts.weighAt {
			c.updateUsage()
		}
	case timerShare:
		if t.at == c.accounts.shareAt {
			c.updateOwners()
		}
	case timerAsk:
		c.asks.end(t.id)
	}
}

// placeAll places what can be placed, and ends what can never be. Placing can end jobs (that no
// longer fit), and ends free places.
func (c *controller) placeAll() {
	for c.placeDirty || len(c.doomed) > 0 {
		c.placeDirty = false
		c.endDoomed()
		c.place()
	}
}

// place lets the matrix decide, and carries out its decisions.
func (c *controller) place() {
	decision := c.gang.Schedule(c.now)
	for _, move := range decision.Move {
		c.onMove(move)
	}
	for _, allocation := range decision.Start {
		if j := c.jobs[uint64(allocation.Job)]; j != nil {
			c.step(j, evPlaced{})
		}
	}
	if !decision.Empty() {
		c.planDirty = true
	}
}

// plain returns an error as a sentence for users.
func plain(err error) string { return fmt.Sprint(err) }
