package cli

import (
	"score/scored/api/scorev1"
	"score/scored/client/phases"
)

// startData holds the times of the steps of a job's start. A time of 0 was not reached.
type startData struct {
	AllocatedNanos int64           `json:"allocated_nanos"`
	ReadyNanos     int64           `json:"ready_nanos"`
	Nodes          []nodeStartData `json:"nodes"`
}

type nodeStartData struct {
	Node           string `json:"node"`
	OrderedNanos   int64  `json:"ordered_nanos"`
	StagedNanos    int64  `json:"staged_nanos"`
	ReadyNanos     int64  `json:"ready_nanos"`
	ForkedNanos    int64  `json:"forked_nanos"`
	InitNanos      int64  `json:"init_nanos"`
	ExchangedNanos int64  `json:"exchanged_nanos"`
	FencedNanos    int64  `json:"fenced_nanos"`
	RunningNanos   int64  `json:"running_nanos"`
	Contacts       uint32 `json:"contacts"`
}

func newStartData(job *scorev1.Job) *startData {
	trace := job.GetStart()
	if trace == nil {
		return nil
	}
	data := &startData{AllocatedNanos: trace.GetAllocatedNanos(), ReadyNanos: trace.GetReadyNanos(), Nodes: []nodeStartData{}}
	for i, place := range job.GetPlaces() {
		if i == len(trace.GetNodes()) {
			break
		}
		n := trace.GetNodes()[i]
		data.Nodes = append(data.Nodes, nodeStartData{
			Node: place.GetNode(), OrderedNanos: n.GetOrderedNanos(), StagedNanos: n.GetStagedNanos(), ReadyNanos: n.GetReadyNanos(),
			ForkedNanos: n.GetForkedNanos(), InitNanos: n.GetInitNanos(), ExchangedNanos: n.GetExchangedNanos(),
			FencedNanos: n.GetFenceNanos(), RunningNanos: phases.Running(n), Contacts: n.GetContacts(),
		})
	}
	return data
}
