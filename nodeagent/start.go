package nodeagent

import "score/scored/api/scorev1"

// started takes what the steward knows of the job's start, by the machine's clock, and returns all
// that is known of it by the cluster's. What was known before stays: the estimate of the cluster's
// clock moves.
func (j *job) started(told *scorev1.NodeStart) *scorev1.NodeStart {
	j.mu.Lock()
	defer j.mu.Unlock()
	known := j.start
	// What was sent is being read by the uplink: another message.
	j.start = &scorev1.NodeStart{
		OrderedNanos: known.GetOrderedNanos(), StagedNanos: known.GetStagedNanos(),
		ReadyNanos:     j.instant(known.GetReadyNanos(), told.GetReadyNanos()),
		ForkedNanos:    j.instant(known.GetForkedNanos(), told.GetForkedNanos()),
		InitNanos:      j.instant(known.GetInitNanos(), told.GetInitNanos()),
		ExchangedNanos: j.instant(known.GetExchangedNanos(), told.GetExchangedNanos()),
		FenceNanos:     j.instant(known.GetFenceNanos(), told.GetFenceNanos()),
		Contacts:       max(known.GetContacts(), told.GetContacts()),
	}
	return j.start
}

// instant is known, or else what the machine's clock said.
func (j *job) instant(known, told int64) int64 {
	if known != 0 || told == 0 {
		return known
	}
	return j.agent.clock.Cluster(told)
}
