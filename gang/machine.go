package gang

import (
	"cmp"
	"slices"
	"time"
)

// Machine is the gang matrix with its queue. Nodes are ordered by name, and numbers in names by
// value (n2 before n10); the order in which they were added does not matter.
type Machine struct {
	cfg    Config
	nodes  []*node // in order; a node's pos is its index
	byNode map[NodeID]*node
	layout uint64 // counts changes of nodes and settings

	jobs  map[JobID]*job // for look-ups only: no decision depends on map order
	gangs []*gang        // placed, ascending id
	queue []*job         // waiting, by compareJobs, without joiners
	fresh []*job         // jobs of queue that no pass has seen yet, by compareJobs
	joins []*job         // waiting to join a gang, by compareJobs

	grid  *grid // taken resources
	empty *grid // the same nodes without gangs
	whole *grid // the same as empty, with no node drained

	full  bool // something was freed or changed: any waiting job may fit now
	freed bool // a gang or a part of one was removed: fewer rows may be enough

	owners  map[OwnerID]Owner
	limited bool                 // some owner has limits
	sizes   []int                // per number of nodes: the most CPUs that as many have
	uses    map[OwnerID]OwnerUse // use by owners with limits, during a pass
	vain    map[OwnerID]int      // what searches without a fit for jobs of an owner have cost in this pass, as finder.examined

	head    headState
	settled int64         // cluster time up to which job.ran is accounted
	period  time.Duration // of the rotation, as of the last noteShares
	shared  bool          // the shares of the last noteShares are still valid

	rows      []RotationRow // cache of Rows
	residents [][]*gang     // per element of rows: the gangs that run in it, gangs at home first
	sleepers  []*gang       // gangs without a turn that may run in every row
	rowsOK    bool          // rows, residents and sleepers are valid

	finder finder
	memo   memo
	// Scratch grids of the backfill: shadow is the cluster when the head starts, common has the
	// resources that overtaking jobs may keep beyond that time, probe is for what-ifs.
	shadow, common, probe grid
	moved                 moved // scratch of unify
}

// New returns a Machine without nodes. cfg must be valid, see Config.Validate.
func New(cfg Config) *Machine {
	m := &Machine{
		cfg:    cfg.withDefaults(),
		byNode: make(map[NodeID]*node),
		jobs:   make(map[JobID]*job),
		memo:   newMemo(),
		uses:   make(map[OwnerID]OwnerUse),
		vain:   make(map[OwnerID]int),
	}
	m.rebuild()
	return m
}

// Configure replaces the settings. Running gangs stay where they are, also in rows beyond a lower
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

// orderQueue computes all keys again and sorts the queues by them.
func (m *Machine) orderQueue() {
	for _, j := range m.jobs {
		j.key = m.keyOf(&j.req)
	}
	for _, list := range [][]*job{m.queue, m.fresh, m.joins} {
		slices.SortFunc(list, compareJobs)
	}
}

// Submit queues a request; Schedule places it. Submit refuses a request that the whole cluster,
// drained nodes included, can never hold, with a sentence for the user.
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

// keyOf returns a job's key in the queue. All waiting jobs age at the same rate, so priority is a
// head start in time and the key does not change with time, only with the owner's points.
func (m *Machine) keyOf(r *Request) int64 {
	return r.Submitted - int64(r.Priority+m.pointsOf(r.Owner))*int64(m.cfg.AgePerPoint)
}

// normal fills in defaults and copies the lists that the caller may change later.
func normal(r Request) Request {
	if r.CPUsPerTask == 0 {
		r.CPUsPerTask = 1
	}
	r.NodeList, r.Exclude = slices.Clone(r.NodeList), slices.Clone(r.Exclude)
	return r
}

// Remove forgets a job that has ended or was cancelled, and frees its resources. It reports whether
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

// vacate removes a job from its gang. CPUs that it shared with other members remain with them.
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

// SetIdle sets whether a placed job must not run, because it is being prepared or its user has
// stopped it. An idle job keeps its place; its row leaves the plan if no other gang at home there
// may run. Jobs are not idle at first. SetIdle reports whether the job is placed.
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

// SetAsleep sets whether all processes of a placed job sleep until something wakes them. If all
// members of a gang sleep, the gang rests: it has no turn, and guests get its CPUs. It is not
// stopped: it may run in every row, so that it can wake. If the gangs of a row leave it no
// channels, it keeps its turn. Jobs are awake at first. SetAsleep reports whether the job is
// placed.
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

// Allocation returns where a job runs, with its present row; ok is false if the job is not placed.
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
