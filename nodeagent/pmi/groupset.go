package pmi

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Proc names a process of any job.
type Proc struct {
	Job uint64
	// Rank is -1 for all ranks of the job.
	Rank int
}

// WholeJob reports whether the processes are exactly the ranks of this job.
func (e *Engine) WholeJob(procs []Proc) bool {
	if len(procs) == 1 && procs[0].Rank == wholeJob {
		return procs[0].Job == e.info.Job
	}
	if len(procs) < e.Size() {
		return false
	}
	seen := make([]bool, e.Size())
	left := e.Size()
	for _, p := range procs {
		if p.Job != e.info.Job || p.Rank >= e.Size() {
			return false
		}
		if p.Rank == wholeJob {
			return true
		}
		if !seen[p.Rank] {
			seen[p.Rank] = true
			left--
		}
	}
	return left == 0
}

// canonical sorts processes and drops repetitions. A whole job (rank -1) includes each of its
// ranks.
func canonical(procs []Proc) []Proc {
	procs = slices.Clone(procs)
	slices.SortFunc(procs, func(x, y Proc) int {
		return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.Rank, y.Rank))
	})
	procs = slices.Compact(procs)
	all := make(map[uint64]bool)
	return slices.DeleteFunc(procs, func(p Proc) bool {
		if p.Rank == wholeJob {
			all[p.Job] = true // it sorts first
			return false
		}
		return all[p.Job]
	})
}

// groupKey encodes a kind, a name if the kind has names, and processes as the key of their group.
func groupKey(kind GroupKind, name string, procs []Proc) string {
	key := []byte{byte(kind)}
	if kind.named() {
		key = appendText(key, name)
	}
	for _, p := range procs {
		key = binary.AppendUvarint(key, p.Job)
		key = binary.AppendUvarint(key, uint64(p.Rank+1))
	}
	return string(key)
}

// groupKindOf returns the kind in a key.
func groupKindOf(key string) GroupKind {
	r := newReader(key)
	return GroupKind(r.Number())
}

// readGroup is the inverse of groupKey.
func readGroup(key string) (kind GroupKind, name string, procs []Proc, ok bool) {
	r := newReader(key)
	kind = GroupKind(r.Number())
	if kind.named() {
		name = r.Chunk(r.Number())
	}
	for r.Left() > 0 {
		p := Proc{Job: r.Number(), Rank: int(r.Number()) - 1}
		if r.Bad() || p.Rank >= MaxRanks || len(procs) == MaxGroupProcs {
			return 0, "", nil, false
		}
		procs = append(procs, p)
	}
	known := kind >= GroupFence && kind <= GroupDestruct
	return kind, name, procs, known && len(name) <= MaxGroupName && !r.Bad() && key == groupKey(kind, name, canonical(procs))
}
