package nodeagent

import (
	"slices"
	"testing"

	"score/scored/api/scorev1"
)

func TestLeftBehind(t *testing.T) {
	launched := &scorev1.AgentMessage{Message: &scorev1.AgentMessage_Launched{Launched: &scorev1.Launched{}}}
	exited := func(rank uint32) *scorev1.AgentMessage {
		return &scorev1.AgentMessage{Message: &scorev1.AgentMessage_RankExited{RankExited: &scorev1.RankExited{Rank: rank}}}
	}
	cases := []struct {
		name            string
		recover, killed bool
		told            []*scorev1.AgentMessage
		left            []uint32
		goesOn          bool
	}{
		{"recovers", true, false, []*scorev1.AgentMessage{launched}, []uint32{2, 5, 7}, true},
		{"recovers without some", true, false, []*scorev1.AgentMessage{launched, exited(5), exited(2)}, []uint32{7}, true},
		{"not asked for", false, false, []*scorev1.AgentMessage{launched}, []uint32{2, 5, 7}, false},
		{"has not started", true, false, nil, []uint32{2, 5, 7}, false},
		{"is being ended", true, true, []*scorev1.AgentMessage{launched}, []uint32{2, 5, 7}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			j := &job{killed: c.killed, kept: c.told, order: &scorev1.Prepare{
				Spec: &scorev1.JobSpec{Recover: c.recover}, Places: []*scorev1.NodePlace{{}, {Ranks: []uint32{2, 5, 7}}}, NodeIndex: 1,
			}}
			left, goesOn := j.leftBehind()
			if !slices.Equal(left, c.left) || goesOn != c.goesOn {
				t.Errorf("ranks %v, goes on: %v; want %v, %v", left, goesOn, c.left, c.goesOn)
			}
			if ranks := j.place().GetRanks(); !slices.Equal(ranks, []uint32{2, 5, 7}) {
				t.Errorf("the order now says %v", ranks)
			}
		})
	}
}
