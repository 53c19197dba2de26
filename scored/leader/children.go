package leader

import (
	"fmt"
	"score/gang"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"slices"
)

// maxChildren bounds the jobs that one program has spawned and that wait or run. A program that
// spawns its workers one by one has some hundred; each is a job in the log, with a steward on each
// of its nodes.
const maxChildren = 1024

// mayHaveChild refuses a spawned job beyond the limits of its user or program.
func (c *controller) mayHaveChild(child *job) error {
	a := c.accounts.ofOwner(child)
	switch limit := a.maxJobs(Caller{UID: a.uid, Role: a.role}); {
	case a.jobs >= limit:
		return limitError("%d of your jobs wait or run already, with those that jobs spawn, and you may have %d", a.jobs, limit)
	case a.bytes+child.bytes > maxBytesOfOne:
		return fmt.Errorf("%w: arguments and environments of %s take %d MiB, and may take %d; give what is spawned fewer variables",
			ErrImpossible, yourJobs(a.jobs), a.bytes>>20, maxBytesOfOne>>20)
	}
	if n := child.parent.root().spawnedNow(); n >= maxChildren {
		return fmt.Errorf("%w: the program has spawned %d jobs that wait or run, and there can be no more; wait until some have ended", ErrImpossible, n)
	}
	return nil
}

// root returns the oldest ancestor that is not forgotten.
func (j *job) root() *job {
	for j.parent != nil {
		j = j.parent
	}
	return j
}

// spawnedNow counts the spawned jobs of a tree that wait or run.
func (j *job) spawnedNow() int {
	n := 0
	for _, one := range j.tree() {
		if one.parents != 0 && one.state != done {
			n++
		}
	}
	return n
}

// tree returns the job and all that it spawned.
func (j *job) tree() []*job {
	all := []*job{j}
	for i := 0; i < len(all); i++ {
		all = append(all, all[i].children...)
	}
	return all
}

// childMemory returns the amounts of memory that a spawned job may be promised on each node, best
// first: its parent's amount, then the default. A child has its own promise, so a program cannot
// use its parent's memory several times. The promise is also within what the user may have on a
// node for the whole program.
func (c *controller) childMemory(child *job) ([]int64, error) {
	parent, usual := child.parent.request.MemPerNode, c.usualMemory(child)
	if parent == 0 {
		return []int64{0}, nil // no memory is promised, and none bounded
	}
	promises := []int64{parent, min(usual, parent)}
	limit := asInt(c.accounts.ofOwner(child).limits.GetMemoryPerNodeBytes())
	if limit == 0 {
		return slices.Compact(promises), nil
	}
	left := limit
	for _, one := range child.parent.root().tree() {
		if one.state != done {
			left -= one.request.MemPerNode
		}
	}
	if left < minMemory {
		return nil, limitError("the program and what it has spawned have %s on each node, which is all of your limit", gang.FormatMemory(limit-max(left, 0)))
	}
	for i := range promises {
		promises[i] = min(promises[i], left)
	}
	return slices.Compact(promises), nil
}

// minMemory is the least that a job can be promised; nothing starts with less.
const minMemory = 8 << 20

// entrySpec returns the spec of a new job for the log. A spawned job shares most of its environment
// with its parent, whose spec is in the log already.
func (c *controller) entrySpec(j *job) (spec *scorev1.JobSpec, inherits bool) {
	own := j.own
	j.own = nil
	if own == nil || c.requireProtocol(protocol.Inherits) != nil {
		return j.spec, false
	}
	return own, true
}
