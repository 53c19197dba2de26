package uplink

import "score/scored/api/scorev1"

// merge joins consecutive ends of ranks into one message, since a message costs
// both sides more than an end's data. It reuses the slice, and changes none of
// the messages, which others keep.
func merge(messages []*scorev1.AgentMessage) []*scorev1.AgentMessage {
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
		exits := make([]*scorev1.RankExited, 0, end-i)
		for _, message := range messages[i:end] {
			exits = append(exits, message.GetRankExited())
		}
		merged = append(merged, &scorev1.AgentMessage{Message: &scorev1.AgentMessage_RanksExited{
			RanksExited: &scorev1.RanksExited{Exits: exits},
		}})
		i = end
	}
	return merged
}
