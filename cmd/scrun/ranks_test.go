package main

import (
	"score/scored/api/scorev1"
	"strings"
	"testing"
)

func TestDescribeJob(t *testing.T) {
	for want, job := range map[string]*scorev1.Job{
		"job 3 waits for CPUs":                              {State: scorev1.JobState_JOB_STATE_QUEUED, WaitingFor: "CPUs"},
		"job 3 waits for its turn":                          {State: scorev1.JobState_JOB_STATE_QUEUED},
		"job 3 is being started on n1 (rank 0)":             {State: scorev1.JobState_JOB_STATE_STARTING, Places: []*scorev1.NodePlace{{Node: "n1", Ranks: []uint32{0}}}},
		"job 3 runs on a (ranks 0,2-3), b (rank 1)":         {State: scorev1.JobState_JOB_STATE_RUNNING, Places: []*scorev1.NodePlace{{Node: "a", Ranks: []uint32{0, 2, 3}}, {Node: "b", Ranks: []uint32{1}}}},
		"job 3 runs on its nodes":                           {State: scorev1.JobState_JOB_STATE_RUNNING},
		"job 3 is being ended":                              {State: scorev1.JobState_JOB_STATE_ENDING},
		"job 3 has ended":                                   {State: scorev1.JobState_JOB_STATE_DONE},
		"job 3 is in a state that this scrun does not know": {State: 99},
	} {
		job.Id = 3
		if got := strings.Join(describeJob(job, nil), "\n"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDescribeRanks(t *testing.T) {
	job := &scorev1.Job{Id: 1, State: scorev1.JobState_JOB_STATE_ENDING}
	ranks := []*scorev1.RankState{
		{Rank: 5, Node: "b", State: "killed", Signal: 9},
		{Rank: 4, Node: "b", State: "exited"},
		{Rank: 2, Node: "a", State: "running"},
		{Rank: 0, Node: "a", State: "running"},
		{Rank: 1, Node: "a", State: "running"},
		{Rank: 3, Node: "b", State: "killed", Signal: 9},
	}
	const want = `job 1 is being ended
ranks 0-2 on a running
ranks 3,5 on b killed by signal 9
rank 4 on b exited with code 0`
	if got := strings.Join(describeJob(job, ranks), "\n"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
