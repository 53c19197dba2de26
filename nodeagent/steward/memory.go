package steward

import (
	"runtime/debug"
	"score/nodeagent/fence"
	"score/nodeagent/pmi"
	"score/nodeagent/steward/reliable"
)

const (
	// gcPercent and memoryLimit keep the resident size of a steward small: each job has one, and
	// most are idle. The live heap is well below 2 MB, so a collection comes every 8 MB: after tens
	// of short jobs, not after each.
	gcPercent   = 200
	memoryLimit = 24 << 20
	// rankMemory is the memory that each rank of the job takes here, on whichever node it runs, in
	// bytes: its node and its place in tables.
	rankMemory = 64
	// keptGrowth is the memory that a byte from other nodes can take here. Keys and values are
	// packed to a seventh, and unpacked they have lengths and places in tables.
	keptGrowth = 32
	// unsentGrowth is the memory that a byte which ranks have not read can take: what waits is
	// copied when more comes.
	unsentGrowth = 2
)

// MaxJobMemory bounds what a job can make its steward keep, in bytes, however hostile its ranks:
// the keys and values of all ranks, events for ranks that register later, the data of one fence in
// pieces and as a whole, tables for the largest number of ranks, unacknowledged messages to other
// nodes, and what ranks and an agent have not read.
const MaxJobMemory = memoryLimit + pmi.MaxJobBytes + pmi.MaxKeptBytes + 2*fence.MaxBytes +
	pmi.MaxRanks*rankMemory + reliable.MaxBytes + unsentMost + maxUnread

// keptStep is the growth in bytes after which the collector's limit is set again. Setting it stops
// the process for a moment.
const keptStep = 32 << 10

// countMemory counts bytes kept for the job, and raises the collector's limit: with a limit below
// the live heap the collector would never stop running.
func (s *steward) countMemory(bytes int) {
	s.kept += bytes
	if s.limitSetAt == 0 || s.kept-s.limitSetAt >= keptStep {
		s.limitSetAt = s.kept
		s.setLimit()
	}
}

// countUnsent does the same for what ranks have not read.
func (s *steward) countUnsent() {
	if unsent := s.clients.unsent; unsent-s.unsentMost >= keptStep {
		s.unsentMost = unsent
		s.setLimit()
	}
}

func (s *steward) setLimit() { debug.SetMemoryLimit(softLimit(s.job.size(), s.kept, s.unsentMost)) }

// softLimit returns the collector's memory limit for a job of this many ranks that keeps this many
// bytes from other nodes, and for ranks that have not read them.
func softLimit(ranks, kept, unsent int) int64 {
	return min(memoryLimit+int64(ranks)*rankMemory+int64(kept)*keptGrowth+int64(unsent)*unsentGrowth, MaxJobMemory)
}
