// Package jobaccount records the resources that a job has used on a node, and the instants of its
// start there.
package jobaccount

import (
	"score/nodeagent/launch"
	"score/scored/api/scorev1"
	"sync"
)

// Account is the account of one job.
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

// Ordered records when the leader's order to prepare the job came.
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

// SetUsage records what the job has used. A nil usage changes nothing.
func (a *Account) SetUsage(usage *scorev1.Usage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if usage != nil {
		a.usage = usage
	}
}

// Usage returns what SetUsage recorded last. The caller may change it.
func (a *Account) Usage() *scorev1.Usage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.usage
}

// CountFences records how much data the ranks here have given to fences so far.
func (a *Account) CountFences(m *scorev1.Fences) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fences.GetFences() >= m.GetFences() {
		return // it is a repetition
	}
	plain := m.GetPlainBytes() - min(a.fences.GetPlainBytes(), m.GetPlainBytes())
	packed := m.GetPackedBytes() - min(a.fences.GetPackedBytes(), m.GetPackedBytes())
	a.countKeys(plain, packed)
	a.fences = m
}

// Fences returns what CountFences recorded last.
func (a *Account) Fences() *scorev1.Fences {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fences
}

// Started adds the instants that the steward knows, by the machine's clock, and returns all known
// instants by the cluster's clock. It keeps instants that are already known, since the estimate of
// the cluster's clock moves.
func (a *Account) Started(reported *scorev1.NodeStart) *scorev1.NodeStart {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.start
	// The uplink may still read the last message, so make a new one.
	a.start = &scorev1.NodeStart{
		OrderedNanos: known.GetOrderedNanos(), StagedNanos: known.GetStagedNanos(),
		ReadyNanos:     a.instant(known.GetReadyNanos(), reported.GetReadyNanos()),
		ForkedNanos:    a.instant(known.GetForkedNanos(), reported.GetForkedNanos()),
		InitNanos:      a.instant(known.GetInitNanos(), reported.GetInitNanos()),
		ExchangedNanos: a.instant(known.GetExchangedNanos(), reported.GetExchangedNanos()),
		FenceNanos:     a.instant(known.GetFenceNanos(), reported.GetFenceNanos()),
		Contacts:       max(known.GetContacts(), reported.GetContacts()),
	}
	return a.start
}

// instant returns known or, if that is 0, the instant reported, which is by the machine's clock.
func (a *Account) instant(known, reported int64) int64 {
	if known != 0 || reported == 0 {
		return known
	}
	return a.clusterTime(reported)
}

// maxResident bounds the processes of a job that one report reads: each costs the ranks some ten
// microseconds.
const maxResident = 64

// Largest returns the largest resident memory that one of the living processes has had, in bytes.
func Largest(pids []int) (largest uint64) {
	for _, pid := range pids[:min(len(pids), maxResident)] {
		largest = max(largest, launch.PeakResident(pid))
	}
	return largest
}
