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
	// rankMemory is the memory that a rank of the job takes here, on whichever node it runs, in
	// bytes: its node and its place in tables.
	rankMemory = 64
	// keptGrowth is the memory that a byte from other nodes can take here. Keys and values are
	// packed to a seventh, and unpacked they have lengths and places in tables.
	keptGrowth = 32
)

// MaxJobMemory is what a job can make its steward keep, in bytes, however hostile its ranks: the
// keys and values of all ranks, events for who registers later, the data of one fence as it comes
// and as it is put together, tables of the most ranks there can be, messages to other nodes that
// are not acknowledged, and what an agent has not read.
const MaxJobMemory = memoryLimit + pmi.MaxJobBytes + pmi.MaxKeptBytes + 2*fence.MaxBytes + pmi.MaxRanks*rankMemory + reliable.MaxBytes + maxUnread

// keptStep is how many bytes more are worth telling the collector of: to set its limit stops the
// process for a moment.
const keptStep = 32 << 10

// countMemory reports that the job has brought so many bytes more. The collector need not work hard
// for what is needed: with a limit below what lives it would run without end.
func (s *steward) countMemory(bytes int) {
	s.kept += bytes
	if s.keptTold == 0 || s.kept-s.keptTold >= keptStep {
		s.keptTold = s.kept
		debug.SetMemoryLimit(softLimit(s.job.size(), s.kept))
	}
}

// keepsNothing is for a steward without a job.
func (s *steward) keepsNothing() {
	s.kept, s.keptTold = 0, 0
	debug.SetMemoryLimit(memoryLimit)
}

// softLimit is what the process may use before the collector hurries, for a job of so many ranks
// from whose other nodes so many bytes have come.
func softLimit(ranks, kept int) int64 {
	return min(memoryLimit+int64(ranks)*rankMemory+int64(kept)*keptGrowth, MaxJobMemory)
}
