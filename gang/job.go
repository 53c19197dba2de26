package gang

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// node is a column. Gangs point to it, so pos may change when nodes come and go.
type node struct {
	Node
	drained bool
	pos     int32 // index in Machine.nodes and in every per-node array
}

// nodeShare is a gang's or a job's part of one node.
type nodeShare struct {
	node  *node
	cpus  []uint64 // as many words as the node's CPUs need
	ranks int
	// channels is the number of channels of all these ranks together; set only in a gang's
	// nodeShares.
	channels int32
}

// job is a request and, once placed, its nodeShares.
type job struct {
	req Request
	key int64 // position in the queue, lower first; see Machine.keyOf

	gang       *gang       // nil while it waits
	nodeShares []nodeShare // in node order
	places     []Place     // the nodeShares as callers see them; not changed when a node is removed
	idle       bool        // placed, but must not run now; see SetIdle
	asleep     bool        // it has nothing to do; see SetAsleep
	lost       bool        // one of its nodes was removed; it only waits for Remove

	ran time.Duration // run time so far, as of the last Schedule

	untried bool // it waits, and the last pass that came to it has not searched for it; see maxVain

	// The following is derived from req and is valid while layout is the Machine's.
	layout uint64
	demand demand
	named  bool // all nodes of its NodeList exist
	tried  bool // able is known
	able   bool // it fits on the present nodes if nothing else runs
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

// gang is the unit that is placed, moved and run together: a job and the jobs that joined it.
type gang struct {
	id         JobID // of its first job, which may have ended
	row        int
	members    []*job      // ascending id, never empty
	nodeShares []nodeShare // per node: CPUs and channels of all members, in node order
	weight     int         // the highest weight of its members
	exclusive  bool

	rests     bool          // it sleeps and has no turn, as of the last call of Rows
	runs      time.Duration // sum of its slices in one rotation, as of the last noteShares
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

// first returns the member that is first in queue order. It decides between gangs that could use
// the same CPUs of another row.
func (ga *gang) first() *job { return slices.MinFunc(ga.members, compareJobs) }

func (ga *gang) runnable() bool {
	return slices.ContainsFunc(ga.members, (*job).runnable)
}

// awake reports whether a member may run and does not sleep.
func (ga *gang) awake() bool {
	return slices.ContainsFunc(ga.members, func(j *job) bool { return j.runnable() && !j.asleep })
}

// asleep reports whether the gang may run and has nothing to do.
func (ga *gang) asleep() bool { return ga.runnable() && !ga.awake() }

// noLimit is the remaining time of a gang without a time limit.
const noLimit = math.MaxInt64

// remainingOf returns the run time that a gang's limits leave it, divided by its weight, in ns,
// rounded up. The gang ends at the latest after this time multiplied by the rotation's length in
// weights, whatever the slice is.
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
