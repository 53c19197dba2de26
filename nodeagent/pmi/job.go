package pmi

import (
	"fmt"
	"strings"
)

// JobInfo describes a job to the engine of one of its nodes.
type JobInfo struct {
	// Job is the cluster's number of the job. Fence data carries it, so that
	// data of two jobs cannot be mixed.
	Job uint64
	// KVSName names the job to its ranks: the PMI-1 key-value space and the
	// PMI-2 job id. It must be unique per run of a job, without blank, ';' or
	// control character, and shorter than MaxKVSName: MPICH makes names of
	// shared files from it.
	KVSName string
	// RankNode maps each rank to the index of its node within the job. Its
	// length is the size of the job; the indices are 0..n-1, all used.
	RankNode []int32
	// NodeIndex is the node that this engine serves.
	NodeIndex int
	// RankApp maps each rank to the index of its command (MPI_APPNUM) when a
	// job runs several; nil means one command.
	RankApp []int32
	// UniverseSize is the value of MPI_UNIVERSE_SIZE: the largest sensible number of processes, -1
	// if unknown. 0 means the size of the job.
	UniverseSize int
	// SpawnerJob is the KVSName of the job that spawned this one; empty when a
	// user started it.
	SpawnerJob string
	// Survive means that the job goes on when ranks of it fail; Lost and OnRespawned report what
	// becomes of them.
	Survive bool
	// Hardware is the path of hwloc's description of the node's hardware; empty: there is none.
	Hardware string
	// Preput is in the key-value space from the start; a spawning job leaves its address there.
	Preput map[string]string
}

// Size returns the number of ranks of the job.
func (j *JobInfo) Size() int { return len(j.RankNode) }

// universe returns the universe size that clients see.
func (j *JobInfo) universe() int {
	if j.UniverseSize == 0 {
		return j.Size()
	}
	return j.UniverseSize
}

// nodes returns the number of nodes of the job.
func (j *JobInfo) nodes() int {
	highest := int32(-1)
	for _, node := range j.RankNode {
		highest = max(highest, node)
	}
	return int(highest) + 1
}

// check returns an error if the description contradicts itself.
func (j *JobInfo) check() error {
	switch {
	case j.Size() == 0:
		return fmt.Errorf("%w: it has no ranks", ErrJobInfo)
	case j.Size() > MaxRanks:
		return fmt.Errorf("%w: %d ranks, the most is %d", ErrJobInfo, j.Size(), MaxRanks)
	case !validName(j.KVSName):
		return fmt.Errorf("%w: %q cannot name a key-value space", ErrJobInfo, j.KVSName)
	case j.SpawnerJob != "" && !validName(j.SpawnerJob):
		return fmt.Errorf("%w: %q cannot name the spawning job", ErrJobInfo, j.SpawnerJob)
	case j.RankApp != nil && len(j.RankApp) != j.Size():
		return fmt.Errorf("%w: %d command indices for %d ranks", ErrJobInfo, len(j.RankApp), j.Size())
	case j.UniverseSize < -1:
		return fmt.Errorf("%w: universe size %d", ErrJobInfo, j.UniverseSize)
	}
	if err := j.checkNodes(); err != nil {
		return err
	}
	return j.checkPreput()
}

func (j *JobInfo) checkNodes() error {
	nodes := j.nodes()
	if nodes > j.Size() {
		return fmt.Errorf("%w: %d nodes for %d ranks", ErrJobInfo, nodes, j.Size())
	}
	used := make([]bool, nodes)
	for rank, node := range j.RankNode {
		if node < 0 {
			return fmt.Errorf("%w: rank %d is on node %d", ErrJobInfo, rank, node)
		}
		used[node] = true
	}
	for node, is := range used {
		if !is {
			return fmt.Errorf("%w: node %d has no rank", ErrJobInfo, node)
		}
	}
	if j.NodeIndex < 0 || j.NodeIndex >= nodes {
		return fmt.Errorf("%w: node %d of %d", ErrJobInfo, j.NodeIndex, nodes)
	}
	return nil
}

func (j *JobInfo) checkPreput() error {
	total := 0
	for key, value := range j.Preput {
		if key == "" || len(key) > MaxKey || len(value) > MaxValue {
			return fmt.Errorf("%w: the given key %.64q does not fit", ErrJobInfo, key)
		}
		total += len(key) + len(value)
	}
	if total > MaxRankBytes {
		return fmt.Errorf("%w: the given keys take %d bytes, the most is %d", ErrJobInfo, total, MaxRankBytes)
	}
	return nil
}

// validName reports whether both wire formats can carry the name unescaped.
func validName(name string) bool {
	if name == "" || len(name) >= MaxKVSName {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r == ';' || r == '/' || r >= 0x7f
	})
}
