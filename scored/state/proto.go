package state

import "score/scored/state/statepb"

func nodeFromProto(n *statepb.Node) *Node {
	return &Node{
		Name: n.GetName(), Address: n.GetAddress(), CPUs: n.GetCpus(), MemoryBytes: n.GetMemoryBytes(),
		Version: n.GetVersion(), BootID: n.GetBootId(), Notes: n.GetNotes(), SharesCPUs: n.GetSharesCpus(), Channels: n.GetChannels(),
		Drain: drainFromProto(n.GetDrain()), FencesByMessage: n.GetFencesByMessage(),
	}
}

func (n *Node) proto() *statepb.Node {
	return &statepb.Node{
		Name: n.Name, Address: n.Address, Cpus: n.CPUs, MemoryBytes: n.MemoryBytes,
		Version: n.Version, BootId: n.BootID, Notes: n.Notes, SharesCpus: n.SharesCPUs, Channels: n.Channels,
		Drain: n.Drain.proto(), FencesByMessage: n.FencesByMessage,
	}
}

func drainFromProto(d *statepb.Drain) *Drain {
	if d == nil {
		return nil
	}
	return &Drain{Reason: d.GetReason(), By: d.GetBy(), Since: d.GetSinceNanos(), Requeue: d.GetRequeue()}
}

func (d *Drain) proto() *statepb.Drain {
	if d == nil {
		return nil
	}
	return &statepb.Drain{Reason: d.Reason, By: d.By, SinceNanos: d.Since, Requeue: d.Requeue}
}

func pairsFromProto(from []*statepb.Pair) []Pair {
	var pairs []Pair
	for _, p := range from {
		pairs = append(pairs, Pair{p.GetKey(), p.GetValue()})
	}
	return pairs
}

func jobFromProto(j *statepb.Job) *Job {
	job := &Job{
		ID: j.GetId(), Spec: j.GetSpec(), User: j.GetUser(), Parent: j.GetParentJob(), Preput: pairsFromProto(j.GetPreput()),
		MemoryPerNode: j.GetMemoryPerNodeBytes(),
		Phase:         j.GetPhase(), Submitted: j.GetSubmittedNanos(), Started: j.GetStartedNanos(), Ended: j.GetEndedNanos(),
		Row: j.GetRow(), Gang: j.GetGang(), Attempts: j.GetAttempts(), Verdict: j.GetVerdict(), Usage: j.GetUsage(),
		HeldCPUs: j.GetHeldCpus(), Allocated: j.GetAllocatedNanos(), Start: j.GetStart(),
		Restarts: j.GetRestarts(), Earlier: j.GetEarlier(), Because: j.GetBecause(), Ordered: j.GetOrdered(), Ending: j.GetEnding(),
		SpawnedBy: nameRequest(j.GetSpawnedBy()), Hold: j.GetHold(), Unmet: j.GetUnmet(),
	}
	for i, p := range j.GetPlaces() {
		place := Place{Node: p.GetNode(), Ranks: p.GetRanks(), CPUs: p.GetCpus()}
		if i < len(j.GetBootIds()) {
			place.BootID = j.GetBootIds()[i]
		}
		job.Places = append(job.Places, place)
	}
	for _, a := range j.GetAnswers() {
		job.Answers = append(job.Answers, NameAnswer{a.GetNode(), a.GetRequest(), a.GetPort()})
	}
	return job
}

func (j *Job) proto() *statepb.Job {
	record := &statepb.Job{
		Id: j.ID, Spec: j.Spec, User: j.User, ParentJob: j.Parent, MemoryPerNodeBytes: j.MemoryPerNode,
		Phase: j.Phase, SubmittedNanos: j.Submitted, StartedNanos: j.Started, EndedNanos: j.Ended,
		Row: j.Row, Gang: j.Gang, Attempts: j.Attempts, Verdict: j.Verdict, Usage: j.Usage,
		HeldCpus: j.HeldCPUs, AllocatedNanos: j.Allocated, Start: j.Start,
		Restarts: j.Restarts, Earlier: j.Earlier, Because: j.Because, Ordered: j.Ordered, Ending: j.Ending,
		SpawnedBy: j.SpawnedBy.proto(), Hold: j.Hold, Unmet: j.Unmet,
	}
	for _, p := range j.Places {
		record.Places = append(record.Places, &statepb.Place{Node: p.Node, Ranks: p.Ranks, Cpus: p.CPUs})
		record.BootIds = append(record.BootIds, p.BootID)
	}
	for _, p := range j.Preput {
		record.Preput = append(record.Preput, &statepb.Pair{Key: p.Key, Value: p.Value})
	}
	for _, a := range j.Answers {
		record.Answers = append(record.Answers, &statepb.NameAnswer{Node: a.Node, Request: a.Number, Port: a.Port})
	}
	return record
}
