package gang

import (
	"cmp"
	"slices"
	"time"
)

// Machine is the gang matrix with its queue. Nodes are ordered by name, numbers in names by
// value (n2 before n10), whatever the order in which they came.
type Machine struct {
	cfg    Config
	nodes  []*node // in order; a node's pos is its index
	byNode map[NodeID]*node
	layout uint64 // counts changes of nodes and settings

	jobs  map[JobID]*job // for look-up only: decisions never depend on map order
	gangs []*gang        // placed, ascending id
	queue []*job         // waiting, by compareJobs, without joiners
	fresh []*job         // jobs of queue that no pass has seen yet, by compareJobs
	joins []*job         // waiting to join a gang, by compareJobs

	grid  *grid // the taken resources
	empty *grid // the same nodes without gangs
	whole *grid // the same as empty, with nothing drained

	full  bool // something was freed or changed: any waiting job may fit now
	freed bool // a gang or part of one has gone: fewer rows may do

	owners  map[OwnerID]Owner
	limited bool                 // some owner has limits
	uses    map[OwnerID]OwnerUse // of owners with limits, during a pass

	head    headState
	settled int64         // cluster time up to which job.ran is accounted
	period  time.Duration // of the rotation, as of the last settle
	shared  bool          // the gangs' shares are still as of the last settle

	rows      []RotationRow // cache of Rows
	residents [][]*gang     // per element of rows: the gangs that run in it, those at home first
	sleepers  []*gang       // gangs that have no turn and may run in each row
	rowsOK    bool

	finder finder
	memo   memo
	// Scratch grids of the backfill: the cluster at the shadow time, the resources that overtakers
	// may use for any time, and a probe.
	shadow, common, probe grid
	moved                 moved // scratch of unify
}

// New makes a Machine without nodes. cfg must be valid, see Config.Validate.
func New(cfg Config) *Machine {
	m := &Machine{
		cfg:    cfg.withDefaults(),
		byNode: make(map[NodeID]*node),
		jobs:   make(map[JobID]*job),
		memo:   newMemo(),
		uses:   make(map[OwnerID]OwnerUse),
	}
	m.rebuild()
	return m
}

// Configure replaces the settings. Running gangs stay where they are, even in rows beyond a lower
// MaxRows.
func (m *Machine) Configure(cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	m.cfg = cfg.withDefaults()
	m.orderQueue()
	m.weighGangs()
	return nil
}

// orderQueue sorts by new keys.
func (m *Machine) orderQueue() {
	for _, j := range m.jobs {
		j.key = m.keyOf(&j.req)
	}
	for _, list := range [][]*job{m.queue, m.fresh, m.joins} {
		slices.SortFunc(list, compareJobs)
	}
}

// Config returns the settings in force, defaults filled in.
func (m *Machine) Config() Config { return m.cfg }

// Submit queues a request; Schedule places it. It refuses one that the whole cluster, drained
// nodes included, can never hold, with a sentence for the user.
func (m *Machine) Submit(req Request) error {
	req = normal(req)
	if err := m.check(&req); err != nil {
		return err
	}
	j := &job{req: req, key: m.keyOf(&req)}
	if req.With == 0 {
		insertJob(&m.queue, j)
		insertJob(&m.fresh, j)
		m.jobs[req.ID] = j
		return nil
	}
	if err := m.checkJoin(j); err != nil {
		return err
	}
	insertJob(&m.joins, j)
	m.jobs[req.ID] = j
	return nil
}

// keyOf makes aging cheap: since every waiting job ages at the same rate, the order
// of two jobs changes only with their owners' points, and priority is a head start in time.
func (m *Machine) keyOf(r *Request) int64 {
	return r.Submitted - int64(r.Priority+m.pointsOf(r.Owner))*int64(m.cfg.AgePerPoint)
}

// normal returns the request with defaults, and with copies of the slices that the caller may
// change later.
func normal(r Request) Request {
	if r.CPUsPerTask == 0 {
		r.CPUsPerTask = 1
	}
	r.NodeList = slices.Clone(r.NodeList)
	return r
}

// Remove removes a job that has ended or was cancelled, and frees its resources. It reports whether
// the job was known.
func (m *Machine) Remove(id JobID) bool {
	j := m.jobs[id]
	if j == nil {
		return false
	}
	delete(m.jobs, id)
	if j.gang != nil {
		m.vacate(j)
		return true
	}
	if !removeJob(&m.queue, j) {
		removeJob(&m.joins, j)
	}
	removeJob(&m.fresh, j)
	if m.head.job == j {
		m.head = headState{}
		m.full = true // those behind it no longer have to wait for it
	}
	return true
}

// vacate removes a job from its gang. CPUs that it shared with other members stay theirs.
func (m *Machine) vacate(j *job) {
	ga := j.gang
	m.grid.remove(ga)
	ga.members = slices.DeleteFunc(ga.members, func(other *job) bool { return other == j })
	if len(ga.members) == 0 {
		at, _ := m.findGang(ga.id)
		m.gangs = slices.Delete(m.gangs, at, at+1)
	} else {
		ga.refresh(m)
		m.grid.add(ga)
	}
	m.full, m.freed = true, true
	m.rowsOK = false
}

func (m *Machine) findGang(id JobID) (int, bool) {
	return slices.BinarySearchFunc(m.gangs, id, func(ga *gang, id JobID) int { return cmp.Compare(ga.id, id) })
}

// SetIdle sets whether a placed job is kept from running, because it is being prepared or its
// user has stopped it. An idle job keeps its place; its row leaves the plan when nothing else is
// at home there. Jobs start out not idle. SetIdle reports whether the job is placed.
func (m *Machine) SetIdle(id JobID, idle bool) bool {
	j := m.jobs[id]
	if j == nil || j.gang == nil {
		return false
	}
	if j.idle != idle {
		j.idle = idle
		m.rowsOK, m.shared = false, false
	}
	return true
}

// SetAsleep sets whether all processes of a placed job sleep until something wakes them. A gang
// whose members all sleep rests: it has no turn, and guests get its CPUs. It is not stopped: it
// may run in every row, so that it wakes by itself. If the gangs of some row leave it no channels,
// it keeps its turn. Jobs start out awake. SetAsleep reports whether the job is placed.
func (m *Machine) SetAsleep(id JobID, asleep bool) bool {
	j := m.jobs[id]
	if j == nil || j.gang == nil {
		return false
	}
	if j.asleep != asleep {
		j.asleep = asleep
		m.rowsOK, m.shared = false, false
	}
	return true
}

// Allocation returns where a job runs, with its present row; ok is false if it does not.
func (m *Machine) Allocation(id JobID) (a Allocation, ok bool) {
	j := m.jobs[id]
	if j == nil || j.gang == nil {
		return Allocation{}, false
	}
	return j.allocation(), true
}

func (j *job) allocation() Allocation {
	return Allocation{Job: j.req.ID, Gang: j.gang.id, Row: j.gang.row, Places: j.places}
}

// Waiting returns the number of jobs not placed.
func (m *Machine) Waiting() int { return len(m.queue) + len(m.joins) }

// Running returns the number of placed jobs, lost ones included.
func (m *Machine) Running() int { return len(m.jobs) - m.Waiting() }

func insertJob(list *[]*job, j *job) {
	at, _ := slices.BinarySearchFunc(*list, j, compareJobs)
	*list = slices.Insert(*list, at, j)
}

func removeJob(list *[]*job, j *job) bool {
	at, found := slices.BinarySearchFunc(*list, j, compareJobs)
	if found {
		*list = slices.Delete(*list, at, at+1)
	}
	return found
}
