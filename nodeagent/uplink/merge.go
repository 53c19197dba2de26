package uplink

import "score/scored/api/agentpb"

// merge joins consecutive messages about ends of ranks into one, since a message costs both sides
// more than its data. It reuses the slice, but does not change the messages, which others keep.
func merge(messages []*agentpb.AgentMessage) []*agentpb.AgentMessage {
	merged := messages[:0]
	for i := 0; i < len(messages); {
		end := i
		for end < len(messages) && messages[end].GetRankExited() != nil {
			end++
		}
		if end-i < 2 {
			merged = append(merged, messages[i])
			i++
			continue
		}
		exits := make([]*agentpb.RankExited, 0, end-i)
		for _, message := range messages[i:end] {
			exits = append(exits, message.GetRankExited())
		}
		merged = append(merged, &agentpb.AgentMessage{Message: &agentpb.AgentMessage_RanksExited{
			RanksExited: &agentpb.RanksExited{Exits: exits},
		}})
		i = end
	}
	return merged
}
