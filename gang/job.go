package gang

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// node is a column. Gangs point at it, so pos may change as nodes come and go.
type node struct {
	Node
	drained bool
	pos     int32 // in Machine.nodes and in every per-node array
}

// nodeShare is the part of one node that a gang or job has.
type nodeShare struct {
	node  *node
	cpus  []uint64 // as many words as the node's CPUs need
	ranks int
	// channels is the total number of channels of the ranks; only in a gang's nodeShares.
	channels int32
}

// job is a request and, once placed, its nodeShares.
type job struct {
	req Request
	key int64 // place in the queue, lower first; see Machine.keyOf

	gang       *gang       // nil while it waits
	nodeShares []nodeShare // in node order
	places     []Place     // the same for the outside; kept when a node goes
	idle       bool        // placed, but not to be run now; see SetIdle
	asleep     bool        // all its processes sleep; see SetAsleep
	lost       bool        // one of its nodes was removed; it only waits for Remove

	ran time.Duration // run time so far, as far as known

	// The following fields are derived from req, and valid while layout is the Machine's.
	layout uint64
	demand demand
	named  bool // all nodes of its NodeList are there
	tried  bool // able is known
	able   bool // fits on the nodes there are if nothing else runs
}

// compareJobs orders the queue: by key, then first come first served.
func compareJobs(a, b *job) int {
	return cmp.Or(
		cmp.Compare(a.key, b.key),
		cmp.Compare(a.req.Submitted, b.req.Submitted),
		cmp.Compare(a.req.ID, b.req.ID),
	)
}

func (j *job) runnable() bool { return !j.idle && !j.lost }

// gang is a job with the jobs that joined it, which are placed, moved and run together.
type gang struct {
	id         JobID // of the job that founded it, which may have ended
	row        int
	members    []*job      // ascending id, never empty
	nodeShares []nodeShare // per node the CPUs and channels of all members, in node order
	weight     int         // the highest of the members'
	exclusive  bool

	rests     bool          // it sleeps and has no turn, as of the last Rows
	runs      time.Duration // slices it gets per rotation, as of the last settle
	remaining int64         // scratch of the backfill; see remainingOf
}

// refresh derives nodeShares, weight and exclusive from the members.
func (ga *gang) refresh(m *Machine) {
	ga.nodeShares, ga.weight, ga.exclusive = nil, 0, false
	for _, j := range ga.members {
		ga.weight = max(ga.weight, m.weightOf(&j.req))
		ga.exclusive = ga.exclusive || j.req.Exclusive
		for i := range j.nodeShares {
			ga.include(&j.nodeShares[i], int32(j.nodeShares[i].ranks*j.req.Channels))
		}
	}
}

func (ga *gang) include(s *nodeShare, channels int32) {
	at, found := slices.BinarySearchFunc(ga.nodeShares, s, func(a nodeShare, b *nodeShare) int {
		return cmp.Compare(a.node.pos, b.node.pos)
	})
	if !found {
		ga.nodeShares = slices.Insert(ga.nodeShares, at, nodeShare{node: s.node, cpus: slices.Clone(s.cpus), channels: channels})
		return
	}
	union(ga.nodeShares[at].cpus, s.cpus)
	ga.nodeShares[at].channels += channels
}

// first returns the member that comes first in queue order. It decides among gangs that could
// use the same CPUs of another row.
func (ga *gang) first() *job { return slices.MinFunc(ga.members, compareJobs) }

func (ga *gang) runnable() bool {
	return slices.ContainsFunc(ga.members, (*job).runnable)
}

// awake reports whether a member may run and does not sleep.
func (ga *gang) awake() bool {
	return slices.ContainsFunc(ga.members, func(j *job) bool { return j.runnable() && !j.asleep })
}

// asleep reports whether the gang may run and all its members sleep.
func (ga *gang) asleep() bool { return ga.runnable() && !ga.awake() }

// noLimit is the remaining time of a gang without a time limit.
const noLimit = math.MaxInt64

// remainingOf returns the run time that a gang's limits leave it, divided by its weight, in
// ns, rounded up. Its latest end is this times the rotation's length in weights from now,
// whatever the slice.
func remainingOf(ga *gang) int64 {
	longest := int64(0)
	for _, j := range ga.members {
		if j.req.TimeLimit == 0 {
			return noLimit
		}
		longest = max(longest, remainingFor(j.req.TimeLimit-j.ran, ga.weight))
	}
	return longest
}

func remainingFor(left time.Duration, weight int) int64 {
	w := int64(weight)
	return (max(int64(left), 0) + w - 1) / w
}
