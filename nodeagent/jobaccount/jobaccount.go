// Package jobaccount records what a job has used on a node, and the instants of its start there.
package jobaccount

import (
	"score/nodeagent/launch"
	"score/scored/api/scorev1"
	"sync"
)

// Account is one job's.
type Account struct {
	clusterTime func(local int64) int64
	countKeys   func(plain, packed uint64)

	mu     sync.Mutex
	usage  *scorev1.Usage     // as reported by the steward, or its control group, at the end
	fences *scorev1.Fences    // replaced, never changed; nil: none yet
	start  *scorev1.NodeStart // by the cluster's clock; replaced, never changed
}

// New returns an empty account. It converts instants by clusterTime, and gives countKeys the bytes
// of keys in fences before and after they were packed.
func New(clusterTime func(local int64) int64, countKeys func(plain, packed uint64)) *Account {
	return &Account{clusterTime: clusterTime, countKeys: countKeys, usage: &scorev1.Usage{}, start: &scorev1.NodeStart{}}
}

// Ordered records when the order to prepare came.
func (a *Account) Ordered(now int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.start = &scorev1.NodeStart{OrderedNanos: a.clusterTime(now)}
}

// Staged records when the job's files were complete.
func (a *Account) Staged(now int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.start = &scorev1.NodeStart{OrderedNanos: a.start.GetOrderedNanos(), StagedNanos: a.clusterTime(now)}
}

// Start returns what is known of the job's start.
func (a *Account) Start() *scorev1.NodeStart {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.start
}

// SetUsage records what the job has used; nil means nothing. The caller of Usage may change it.
func (a *Account) SetUsage(usage *scorev1.Usage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if usage != nil {
		a.usage = usage
	}
}

// Usage returns what SetUsage recorded last.
func (a *Account) Usage() *scorev1.Usage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.usage
}

// CountFences records what the ranks here have given to fences so far.
func (a *Account) CountFences(m *scorev1.Fences) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fences.GetFences() >= m.GetFences() {
		return // it is a repetition
	}
	a.countKeys(m.GetPlainBytes()-min(a.fences.GetPlainBytes(), m.GetPlainBytes()), m.GetPackedBytes()-min(a.fences.GetPackedBytes(), m.GetPackedBytes()))
	a.fences = m
}

// Fences returns what CountFences recorded last.
func (a *Account) Fences() *scorev1.Fences {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fences
}

// Started takes what the steward knows of the job's start, by the machine's clock, and returns all
// that is known of it, by the cluster's clock. Known instants stay as they are, since the estimate
// of the cluster's clock moves.
func (a *Account) Started(told *scorev1.NodeStart) *scorev1.NodeStart {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.start
	// The uplink may still be reading the message that was sent, so this is a new one.
	a.start = &scorev1.NodeStart{
		OrderedNanos: known.GetOrderedNanos(), StagedNanos: known.GetStagedNanos(),
		ReadyNanos:     a.instant(known.GetReadyNanos(), told.GetReadyNanos()),
		ForkedNanos:    a.instant(known.GetForkedNanos(), told.GetForkedNanos()),
		InitNanos:      a.instant(known.GetInitNanos(), told.GetInitNanos()),
		ExchangedNanos: a.instant(known.GetExchangedNanos(), told.GetExchangedNanos()),
		FenceNanos:     a.instant(known.GetFenceNanos(), told.GetFenceNanos()),
		Contacts:       max(known.GetContacts(), told.GetContacts()),
	}
	return a.start
}

// instant returns known, or else the instant told by the machine's clock.
func (a *Account) instant(known, told int64) int64 {
	if known != 0 || told == 0 {
		return known
	}
	return a.clusterTime(told)
}

// maxResident bounds the processes of a job that one report reads: each takes some ten microseconds
// of the ranks' time.
const maxResident = 64

// Largest returns the largest resident memory that one of the processes has had, in bytes. Ended
// processes do not count.
func Largest(pids []int) (largest uint64) {
	for _, pid := range pids[:min(len(pids), maxResident)] {
		largest = max(largest, launch.PeakResident(pid))
	}
	return largest
}
