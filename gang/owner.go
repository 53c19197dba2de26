package gang

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// MaxOwnerPoints bounds an owner's points, so that together with MaxPriority and MaxAgePerPoint the
// queue's keys stay within int64.
const MaxOwnerPoints = 100_000

// UsualShare is the share of an owner without a share of its own. maxShare keeps the product with
// weights small; a share beyond it has no effect, since MaxWeight bounds the weight.
const (
	UsualShare = 100
	maxShare   = UsualShare * MaxWeight
)

// OwnerID identifies the user who owns a job.
type OwnerID uint32

// Owner holds the settings of a user. The zero value is a user without points and limits.
type Owner struct {
	// Points of priority for all jobs of the owner; they do not change slices.
	Points int
	// Share sets the length of the slices of each of the owner's gangs in proportion to those of
	// other owners; 0: UsualShare. See Config.WeightStep for the bounds.
	Share int
	// MaxJobs and MaxCPUs bound the gangs and CPUs that the owner has at once, in all rows
	// together; 0: no bound. They do not delay joiners: a joiner that would exceed MaxCPUs gets
	// CPUs of its gang.
	MaxJobs, MaxCPUs int
}

// OwnerUse is the number of gangs and CPUs that an owner has.
type OwnerUse struct{ Jobs, CPUs int }

// SetOwners replaces all owners. It reports whether anything changed, so that waiting jobs may
// start that could not before, or in another order. Points beyond MaxOwnerPoints count as
// MaxOwnerPoints. Running gangs stay.
func (m *Machine) SetOwners(owners map[OwnerID]Owner) bool {
	if maps.Equal(m.owners, owners) {
		return false
	}
	shares := m.sharesChange(owners)
	m.owners = maps.Clone(owners)
	m.limited = false
	for _, o := range m.owners {
		m.limited = m.limited || o.MaxJobs > 0 || o.MaxCPUs > 0
	}
	m.orderQueue()
	m.full = true
	m.rowsOK, m.shared = false, false // guests take their turns in queue order
	if shares {
		m.weighGangs()
	}
	return true
}

// sharesChange reports whether any owner's share changes.
func (m *Machine) sharesChange(next map[OwnerID]Owner) bool {
	for id, o := range next {
		if m.owners[id].share() != o.share() {
			return true
		}
	}
	for id, o := range m.owners {
		if next[id].share() != o.share() {
			return true
		}
	}
	return false
}

// share returns the share of an owner, within its bounds.
func (o Owner) share() int {
	if o.Share <= 0 {
		return UsualShare
	}
	return min(o.Share, maxShare)
}

// weightOf returns the weight of a request.
func (m *Machine) weightOf(r *Request) int {
	return m.cfg.weight(r.Priority, m.owners[r.Owner].share())
}

// weighGangs computes the weights of all gangs again. The next Schedule makes a new promise to the
// head of the queue if it needs one.
func (m *Machine) weighGangs() {
	for _, ga := range m.gangs {
		ga.refresh(m)
	}
	m.rebuild()
}

// pointsOf returns the points of an owner, within their bounds.
func (m *Machine) pointsOf(id OwnerID) int {
	return min(max(m.owners[id].Points, -MaxOwnerPoints), MaxOwnerPoints)
}

// OwnerUse returns the number of gangs and CPUs that an owner has.
func (m *Machine) OwnerUse(id OwnerID) OwnerUse {
	var use OwnerUse
	for _, ga := range m.gangs {
		if ga.owner() == id {
			use.add(ga.nodeShares)
		}
	}
	return use
}

func (u *OwnerUse) add(nodeShares []nodeShare) {
	u.Jobs++
	for i := range nodeShares {
		u.CPUs += count(nodeShares[i].cpus)
	}
}

// owner returns the owner of a gang. Jobs that join it belong to the same owner.
func (ga *gang) owner() OwnerID { return ga.members[0].req.Owner }

// countOwners counts, for one pass, the use by owners with limits.
func (m *Machine) countOwners() {
	clear(m.uses)
	if !m.limited {
		return
	}
	for _, ga := range m.gangs {
		m.countOwner(ga)
	}
}

func (m *Machine) countOwner(ga *gang) {
	if o := m.owners[ga.owner()]; o.MaxJobs == 0 && o.MaxCPUs == 0 {
		return
	}
	use := m.uses[ga.owner()]
	use.add(ga.nodeShares)
	m.uses[ga.owner()] = use
}

// withheld reports whether the limits of its owner keep a job from starting, whatever is free.
func (m *Machine) withheld(j *job) bool {
	if !m.limited {
		return false
	}
	o, use := m.owners[j.req.Owner], m.uses[j.req.Owner]
	if o.MaxJobs > 0 && use.Jobs >= o.MaxJobs {
		return true
	}
	return o.MaxCPUs > 0 && use.CPUs+m.wanted(&j.req) > o.MaxCPUs
}

// checkOwner refuses a request that the limits of its owner would hold back for ever.
func (m *Machine) checkOwner(r *Request) error {
	maxCPUs := m.owners[r.Owner].MaxCPUs
	wanted := m.wanted(r)
	if maxCPUs == 0 || wanted <= maxCPUs {
		return nil
	}
	if r.Oversubscribe {
		return fmt.Errorf("%w: ranks that share CPUs get all of their nodes, here up to %d; its user may have %d; ask for fewer nodes or tasks",
			ErrOwnerLimit, wanted, maxCPUs)
	}
	return fmt.Errorf("%w: the job asks for %s; its user may have %d", ErrOwnerLimit, plural(wanted, "CPU"), maxCPUs)
}

// wanted returns the number of CPUs that a request counts for while it waits. An oversubscribed
// request gets at most the CPUs of its nodes: wanted assumes the largest nodes.
func (m *Machine) wanted(r *Request) int {
	cpus := r.Tasks * r.CPUsPerTask
	if !r.Oversubscribe {
		return cpus
	}
	nodes := r.Nodes
	if nodes == 0 {
		nodes = r.Tasks
	}
	return min(cpus, m.sizes[min(nodes, len(m.nodes))])
}

// measureNodes computes sizes.
func (m *Machine) measureNodes() {
	m.sizes = make([]int, 1, len(m.nodes)+1)
	for _, n := range m.nodes {
		m.sizes = append(m.sizes, n.CPUs)
	}
	slices.SortFunc(m.sizes[1:], func(a, b int) int { return b - a })
	for i := range m.nodes {
		m.sizes[i+1] += m.sizes[i]
	}
}

// ownerDetail compares the owner's use with the owner's limits.
func (m *Machine) ownerDetail(j *job) string {
	o, use := m.owners[j.req.Owner], m.uses[j.req.Owner]
	var parts []string
	if o.MaxJobs > 0 {
		parts = append(parts, fmt.Sprintf("they are %d of at most %s", use.Jobs, plural(o.MaxJobs, "job")))
	}
	if o.MaxCPUs > 0 {
		parts = append(parts, fmt.Sprintf("they use %d of %s, and it asks for %d", use.CPUs, plural(o.MaxCPUs, "CPU"), m.wanted(&j.req)))
	}
	return strings.Join(parts, "; ")
}
