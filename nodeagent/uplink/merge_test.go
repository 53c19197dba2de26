package uplink

import (
	"score/scored/api/agentpb"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Merging keeps every message and their order, and leaves no two ends of ranks
// beside each other.
func TestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []uint32 // 0: no end of a rank
		var messages []*agentpb.AgentMessage
		for _, rank := range rapid.SliceOf(rapid.Uint32Range(0, 3)).Draw(t, "messages") {
			want = append(want, rank)
			if rank == 0 {
				messages = append(messages, &agentpb.AgentMessage{})
				continue
			}
			messages = append(messages, &agentpb.AgentMessage{Message: &agentpb.AgentMessage_RankExited{
				RankExited: &agentpb.RankExited{Rank: rank},
			}})
		}
		var got []uint32
		ended := false
		for _, m := range merge(messages) {
			one, several := m.GetRankExited(), m.GetRanksExited().GetExits()
			if ended && (one != nil || several != nil) {
				t.Fatal("two messages of ends beside each other")
			}
			ended = one != nil || several != nil
			switch {
			case one != nil:
				got = append(got, one.GetRank())
			case several == nil:
				got = append(got, 0)
			}
			for _, exit := range several {
				got = append(got, exit.GetRank())
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
