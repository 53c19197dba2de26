package gang

import (
	"math/bits"
	"slices"
	"time"
)

// Schedule places the jobs that can start at cluster time now, and removes rows that are not
// needed. Call it after every event or batch of events; without an event it returns at once, since
// time alone makes no job fit. now must not go back.
func (m *Machine) Schedule(now int64) Decision {
	var d Decision
	due := m.full || len(m.fresh) > 0 || len(m.joins) > 0
	if !due && m.shared {
		return d
	}
	m.accountRuns(now)
	if due {
		m.place(now, &d)
	}
	m.noteShares()
	return d
}

func (m *Machine) place(now int64, d *Decision) {
	if m.freed {
		m.unify(d)
	}
	m.startJoins(d)
	for m.pass(now, d) {
		m.full = true
	}
	clear(m.fresh)
	m.full, m.freed, m.fresh = false, false, m.fresh[:0]
	if !d.Empty() {
		m.rowsOK = false
	}
}

// maxVain bounds what a pass spends on searches without a fit for jobs of one owner, in nodes that
// are examined: some 70 ms of a CPU. So an owner with thousands of different jobs delays others'
// starts no longer than that. It is twice what 10,000 different jobs cost on 1,000 nodes
// (BenchmarkSchedule10k1000), and on a cluster of up to 90 nodes and 8 rows enough for 20,000,
// whatever they ask for.
const maxVain = 16 << 20

// pass goes through the queue in order. It starts jobs until one does not fit: the head. Later jobs
// may overtake the head under the rules of backfill.go. Jobs that wait for nodes to come back, or
// for other jobs of their owner, do not hold up others; nor do those beyond maxVain. pass reports
// whether another pass is needed: an overtaking job has used up the limits of the head's owner, so
// that the head no longer holds up others.
func (m *Machine) pass(now int64, d *Decision) (again bool) {
	m.countOwners()
	list, head := m.queue, (*job)(nil)
	if !m.full && m.freshBehindHead() && (m.head.job == nil || !m.withheld(m.head.job)) {
		list, head = m.fresh, m.head.job // nothing was freed: the other jobs still do not fit
	}
	m.memo.clear()
	clear(m.vain)
	var view *prospect
	started := false
	for _, j := range list {
		j.untried = false
		if m.withheld(j) || m.knownImpossible(j) {
			continue // only jobs of its owner, or nodes, are in its way: it does not hold up others
		}
		if j.untried = m.vain[j.req.Owner] > maxVain; j.untried {
			continue
		}
		if head != nil && view == nil {
			view = m.prospectOf(head, now)
		}
		examined := m.finder.examined
		if ga, ok := m.tryStart(j, head, view); ok {
			m.start(j, ga, d)
			m.countOwner(ga)
			started = true
			continue
		}
		if head == nil && m.possible(j) {
			head = j
		}
		m.vain[j.req.Owner] += m.finder.examined - examined
	}
	if head == nil {
		m.head = headState{}
	} else if view == nil {
		m.prospectOf(head, now) // it is last in the queue and needs a promise, too
	}
	if started {
		m.queue = slices.DeleteFunc(m.queue, func(j *job) bool { return j.gang != nil })
	}
	return started && head != nil && m.withheld(head)
}

func (m *Machine) freshBehindHead() bool {
	return m.head.job == nil || len(m.fresh) == 0 || compareJobs(m.head.job, m.fresh[0]) < 0
}

// tryStart finds a place for a job, with or without a waiting head before it.
func (m *Machine) tryStart(j, head *job, v *prospect) (*gang, bool) {
	if head != nil {
		return m.overtake(j, v)
	}
	s, ok := m.remembered(m.memo.now, m.grid, j, anyGrowth)
	if !ok {
		return nil, false
	}
	ga := m.formGang(j, s)
	m.grid.add(ga)
	return ga, true
}

// formGang returns the gang of a job for a fit. It does not add the gang to a grid.
func (m *Machine) formGang(j *job, s fit) *gang {
	j.nodeShares = s.nodeShares
	ga := &gang{id: j.req.ID, row: s.row, members: []*job{j}}
	ga.refresh(m)
	return ga
}

// start adds a job's gang, which is in the grid, to the list of gangs.
func (m *Machine) start(j *job, ga *gang, d *Decision) {
	at, _ := m.findGang(ga.id)
	m.gangs = slices.Insert(m.gangs, at, ga)
	m.record(j, ga, d)
}

// record notes that a job was placed in a gang.
func (m *Machine) record(j *job, ga *gang, d *Decision) {
	j.gang = ga
	j.places = placesOf(j)
	d.Start = append(d.Start, j.allocation())
}

// startJoins places joiners before all other jobs: the gang that spawned them waits for them.
func (m *Machine) startJoins(d *Decision) {
	waiting := m.joins[:0]
	for _, j := range m.joins {
		switch ga := m.gangToJoin(j); {
		case ga == nil:
			m.queueAlone(j)
		case !m.join(j, ga, d):
			waiting = append(waiting, j)
		}
	}
	clear(m.joins[len(waiting):])
	m.joins = waiting
}

// gangToJoin returns the gang that a job wants to join, nil if it has ended.
func (m *Machine) gangToJoin(j *job) *gang {
	if with := m.jobs[j.req.With]; with != nil && !with.lost {
		return with.gang
	}
	return nil
}

// queueAlone queues a joiner whose gang has ended like any other job. The job may share CPUs, since
// it might have shared them with its gang.
func (m *Machine) queueAlone(j *job) {
	j.req.Oversubscribe = true
	j.layout = 0
	insertJob(&m.queue, j)
	insertJob(&m.fresh, j)
}

func (m *Machine) join(j *job, ga *gang, d *Decision) bool {
	s, ok := m.joinFit(j, ga)
	if !ok {
		return false
	}
	j.nodeShares = s.nodeShares
	m.admit(j, ga)
	m.record(j, ga, d)
	return true
}

// admit makes a job with nodeShares a member of a gang.
func (m *Machine) admit(j *job, ga *gang) {
	m.grid.remove(ga)
	at, _ := slices.BinarySearchFunc(ga.members, j, func(a, b *job) int {
		if a.req.ID < b.req.ID {
			return -1
		}
		return 1
	})
	ga.members = slices.Insert(ga.members, at, j)
	ga.refresh(m)
	m.grid.add(ga)
}

// placesOf returns a placed job's CPUs and ranks per node.
func placesOf(j *job) []Place {
	places := make([]Place, len(j.nodeShares))
	for i := range j.nodeShares {
		s := &j.nodeShares[i]
		places[i] = Place{Node: s.node.ID, CPUs: indices(s.cpus), Ranks: make([]int, 0, s.ranks)}
	}
	if !j.req.Cyclic {
		rank := 0
		for i := range places {
			for range j.nodeShares[i].ranks {
				places[i].Ranks = append(places[i].Ranks, rank)
				rank++
			}
		}
		return places
	}
	for rank := 0; rank < j.req.Tasks; {
		for i := range places {
			if len(places[i].Ranks) < j.nodeShares[i].ranks {
				places[i].Ranks = append(places[i].Ranks, rank)
				rank++
			}
		}
	}
	return places
}

// accountRuns adds to each job with a time limit the run time it got since the last call, by its
// share of the rotation.
func (m *Machine) accountRuns(now int64) {
	elapsed := now - m.settled
	m.settled = max(now, m.settled)
	if elapsed <= 0 || m.period == 0 {
		return
	}
	for _, ga := range m.gangs {
		if ga.runs == 0 {
			continue
		}
		ran := time.Duration(mulDiv(uint64(elapsed), uint64(ga.runs), uint64(m.period)))
		for _, j := range ga.members {
			if j.req.TimeLimit > 0 && j.runnable() {
				j.ran += ran
			}
		}
	}
}

// noteShares records the share of the rotation of every gang, for accountRuns.
func (m *Machine) noteShares() {
	m.shared = true
	m.period = 0
	for _, ga := range m.gangs {
		ga.runs = 0
	}
	for r, row := range m.Rows() {
		m.period += row.Slice
		for _, ga := range m.residents[r] {
			ga.runs += row.Slice
		}
		for _, ga := range m.sleepers {
			ga.runs += row.Slice // it may run all the time, and its limit counts that
		}
	}
}

// mulDiv returns a*b/c for b <= c. The product must not overflow, so it has 128 bits.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	quo, _ := bits.Div64(hi, lo, c)
	return quo
}
