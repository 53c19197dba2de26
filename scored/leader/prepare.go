package leader

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"score/scored/api/agentpb"
	"score/scored/api/jobmap"
	"slices"
)

// prepare orders the job's node with this index to prepare the job.
func (c *controller) prepare(j *job, index int, order func(index int) *agentpb.Prepare) {
	n := c.nodes[j.parts[index].Node]
	if !n.connected() {
		return // the node gets the order when it connects
	}
	j.parts[index].sent = true
	message := &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Prepare{Prepare: order(index)}}
	if j.attempts > 1 || len(j.staged) > 0 {
		c.send(n.link, message)
		return
	}
	c.sendAhead(n.link, message, j.queuedAfter)
}

// prepareOrders returns a function that makes the order for the node with an index. What grows with
// the number of nodes is made once for all: otherwise a job of a thousand nodes would take seconds.
func (c *controller) prepareOrders(j *job) func(index int) *agentpb.Prepare {
	preput := make(map[string]string, len(j.preput))
	for _, pair := range j.preput {
		preput[pair.Key] = pair.Value
	}
	places, universe, fencesByMessage := jobmap.Append(nil, c.nodePlaces(j)), c.universe(j), c.fenceByMessage(j)
	key, differ := jobKey(c.jobSecret, j.id, j.submitted), c.linksDiffer(j)
	return func(index int) *agentpb.Prepare {
		return &agentpb.Prepare{
			JobId: j.id, Spec: j.spec, User: j.user,
			Map: places, NodeIndex: uint32(index),
			MemoryLimitBytes: uint64(c.memoryLimit(j)),
			MaxProcesses:     c.maxProcesses(),
			ParentJob:        j.parents, Preput: preput,
			UniverseSize: universe,
			StageSeed:    c.nodes[j.spec.GetStageSeed()].addressOf(),
			Attempt:      j.attempts, Restarts: j.restarts, RestartedBecause: j.because,
			LeaseNanos: j.lease().Nanoseconds(), FencesByMessage: fencesByMessage, Key: key,
			LinksDiffer: differ,
		}
	}
}

// keyLabel separates the keys of jobs from other keys that are derived from the same secret.
const keyLabel = "score leader: key of a job, 2"

// jobKey returns the key from which the nodes of a job derive the keys of its datagrams. Each
// server derives the same key. The keys of some jobs, which a node knows, disclose nothing about
// those of others. A cluster restored from a backup reuses job numbers; the time of submission,
// which is in the log, makes the keys of such jobs differ.
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

// fenceByMessage reports whether the stewards on all nodes of a job can exchange fence data
// directly. The others would wait forever for a steward that cannot.
func (c *controller) fenceByMessage(j *job) bool {
	return !slices.ContainsFunc(j.parts, func(p *part) bool { n := c.nodes[p.Node]; return n == nil || !n.fencesByMessage })
}

// linksDiffer returns a sentence if channels of the job's nodes have different links: datagrams of
// one would not reach the others.
func (c *controller) linksDiffer(j *job) string {
	var first *node
	for _, p := range j.parts {
		n := c.nodes[p.Node]
		switch {
		case n == nil || n.transport == "":
		case first == nil:
			first = n
		case n.transport != first.transport:
			return fmt.Sprintf(
				"channels cannot reach from node %s, whose link is %q, to node %s, whose link is %q: set agent.link (and agent.tipc_type, and TIPC's network id) alike on both",
				first.name,
				first.transport,
				n.name,
				n.transport,
			)
		}
	}
	return ""
}

// maxProcesses returns the number of processes and threads that a job may have on a node.
func (c *controller) maxProcesses() uint32 {
	if maxProcesses := c.settings.GetMaxProcesses(); maxProcesses > 0 {
		return maxProcesses
	}
	return DefaultMaxProcesses
}

// memoryLimit returns how much memory the job may use on each of its nodes; 0: no limit. A spawned
// job may use what its parent was promised.
func (c *controller) memoryLimit(j *job) int64 {
	if j.request.MemPerNode == 0 && j.parent != nil {
		return c.memoryLimit(j.parent)
	}
	return j.request.MemPerNode
}

// universe returns the value of MPI_UNIVERSE_SIZE: how many ranks a program can sensibly have,
// including those that it spawns. As with other launchers it is the number of the cluster's CPUs if
// the job has fewer ranks. A job with a rank on every CPU may still spawn one for each CPU: they
// share the CPUs, and a program that saw no room would not spawn at all.
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
