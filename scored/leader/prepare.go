package leader

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"score/scored/api/jobmap"
	"score/scored/api/scorev1"
	"slices"
)

// prepare orders the index-th of a job's nodes to make it ready.
func (c *controller) prepare(j *job, index int, order func(index int) *scorev1.Prepare) {
	n := c.nodes[j.parts[index].Node]
	if n == nil || n.link == nil {
		return // told when it connects
	}
	j.parts[index].sent = true
	c.send(n.link, &scorev1.ServerMessage{Message: &scorev1.ServerMessage_Prepare{Prepare: order(index)}})
}

// prepareOrders returns the order to prepare the job by the index of a node. What
// grows with the nodes is made once for all of them: a job of a thousand nodes would take seconds
// otherwise.
func (c *controller) prepareOrders(j *job) func(index int) *scorev1.Prepare {
	preput := make(map[string]string, len(j.preput))
	for _, pair := range j.preput {
		preput[pair.Key] = pair.Value
	}
	places, universe, fencesByMessage := jobmap.Append(nil, c.nodePlaces(j)), c.universe(j), c.fenceByMessage(j)
	key := jobKey(c.jobSecret, j.id, j.submitted)
	return func(index int) *scorev1.Prepare {
		return &scorev1.Prepare{
			JobId: j.id, Spec: j.spec, User: j.user,
			Map: places, NodeIndex: uint32(index),
			MemoryLimitBytes: uint64(c.memoryLimit(j)),
			MaxProcesses:     c.maxProcesses(),
			ParentJob:        j.parents, Preput: preput,
			UniverseSize: universe,
			StageSeed:    c.nodes[j.spec.GetStageSeed()].addressOf(),
			Attempt:      j.attempts, Restarts: j.restarts, RestartedBecause: j.because,
			LeaseNanos: j.lease().Nanoseconds(), FencesByMessage: fencesByMessage, Key: key,
		}
	}
}

// keyLabel keeps the keys of jobs apart from all else that is derived from the same secret.
const keyLabel = "score leader: key of a job, 2"

// jobKey returns what the nodes of a job derive the keys of its datagrams from. Each server derives
// the same one. Who knows those of some jobs, as a node does, learns nothing of others'. A cluster
// restored from a backup gives numbers of jobs again; the time of the submission, which is in the
// log, keeps the keys of such jobs apart.
func jobKey(secret []byte, job uint64, submitted int64) []byte {
	if len(secret) == 0 {
		return nil
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(keyLabel)) // a hash never fails
	mac.Write(binary.BigEndian.AppendUint64([]byte{0}, job))
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(submitted)))
	return mac.Sum(nil)
}

// fenceByMessage reports whether the stewards on all nodes of a job can exchange messages directly.
// A steward that cannot would wait forever for the others.
func (c *controller) fenceByMessage(j *job) bool {
	return !slices.ContainsFunc(j.parts, func(p *part) bool { n := c.nodes[p.Node]; return n == nil || !n.fencesByMessage })
}

// maxProcesses returns how many processes and threads a job may have on a node.
func (c *controller) maxProcesses() uint32 {
	if most := c.settings.GetMaxProcesses(); most > 0 {
		return most
	}
	return DefaultMaxProcesses
}

// memoryLimit returns what the job may use on each of its nodes; 0: no limit. A
// spawned job lives within what its parent was promised.
func (c *controller) memoryLimit(j *job) int64 {
	if j.request.MemPerNode == 0 && j.parent != nil {
		return c.memoryLimit(j.parent)
	}
	return j.request.MemPerNode
}

// universe returns what MPI programs read as MPI_UNIVERSE_SIZE: how many ranks there can sensibly
// be, their own with all that they spawn. It is the number of the cluster's CPUs, as with other
// launchers, for a job with fewer ranks. A job that has a rank on every CPU may still spawn one for
// each CPU: these share the CPUs with their spawners in time, and a program that found no room
// would not spawn at all.
func (c *controller) universe(j *job) uint32 {
	cpus := uint32(0)
	for _, n := range c.nodes {
		cpus += n.cpus
	}
	if j.spec.GetTasks() < cpus {
		return cpus
	}
	return j.spec.GetTasks() + cpus
}
