package leader

import (
	"math"
	"score/gang"
)

// AskedMemory writes an amount of memory that a request asks for and is refused.
func AskedMemory(bytes uint64) string { return gang.FormatMemoryAsked(asInt(bytes)) }

func asInt(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// memoryPerNode returns what the user asked for, or the cluster's default for as many CPUs as the
// job can have on one node. A default of zero is an equal share: as many jobs as there are rows
// then fit into memory together.
func (c *controller) memoryPerNode(j *job) int64 {
	if asked := j.spec.GetMemoryPerNodeBytes(); asked > 0 || c.singleUser {
		return int64(min(asked, gang.MaxMemory))
	}
	return c.usualMemory(j)
}

// usualMemory returns the cluster's default for the CPUs that a job can have on one node.
func (c *controller) usualMemory(j *job) int64 {
	largest, share := uint32(1), uint64(gang.MaxMemory)
	for _, n := range c.nodes {
		if n.cpus > 0 {
			largest = max(largest, n.cpus)
			share = min(share, n.memory/uint64(n.cpus)/uint64(max(c.settings.GetMaxRows(), 1)))
		}
	}
	perCPU := c.settings.GetDefaultMemoryPerCpuBytes()
	if perCPU == 0 && len(c.nodes) > 0 {
		perCPU = share
	}
	tasks := uint64(j.spec.GetTasks())
	if nodes := uint64(j.spec.GetNodes()); nodes > 0 {
		tasks = (tasks + nodes - 1) / nodes
	}
	cpus := min(tasks*uint64(max(j.spec.GetCpusPerTask(), 1)), uint64(largest))
	return int64(min(cpus*min(perCPU, gang.MaxMemory), gang.MaxMemory))
}
