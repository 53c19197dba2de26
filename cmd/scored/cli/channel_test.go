package cli

import (
	"score/channels/abi"
	"score/scored/api/scorev1"
	"score/scored/client/clienttest"
	"score/tests/pinned"
	"slices"
	"testing"
)

// exampleChannels are those of a job of three ranks on two nodes.
func exampleChannels(r *scorev1.ListChannelsRequest) (*scorev1.ListChannelsResponse, error) {
	counters := func(rank uint64) []uint64 {
		all := make([]uint64, len(abi.Counters))
		for i := range all {
			all[i] = rank*1000 + uint64(i)
		}
		return all
	}
	port := &scorev1.PortCounts{Sent: 12, SentBytes: 3456, Received: 13, ReceivedBytes: 7890, Dropped: 1, Calls: 20}
	reply := &scorev1.ListChannelsResponse{Channels: []*scorev1.ChannelState{
		{JobId: 3, Rank: 0, Channel: 1, Node: "n1", State: "open", Driver: "watched", Pid: 101, Address: "127.0.0.1:4001", Counters: counters(1), Port: port},
		{JobId: 3, Rank: 0, Channel: 2, Node: "n1", State: "new", Driver: "armed", Address: "127.0.0.1:4002", Counters: counters(0)[:3]},
		{JobId: 3, Rank: 1, Channel: 1, Node: "n2", State: "open", Asleep: true, Driver: "local", Pid: 102, Counters: counters(2)},
	}}
	if r.GetOneRank() {
		reply.Channels = slices.DeleteFunc(reply.Channels, func(c *scorev1.ChannelState) bool { return c.GetRank() != r.GetRank() })
		reply.Channels[0].Peers = []*scorev1.ChannelPeer{
			{Rank: 1, Window: 64, Unacknowledged: 2, Queued: 5, Transmissions: 900, Hold: "held (full)", RoundTripNanos: 41_500, Received: 880, Answers: "ack"},
			{Rank: 2, Window: 32, Failed: true, Answers: "gap"},
		}
		return reply, nil
	}
	if r.GetNode() == "n9" {
		return &scorev1.ListChannelsResponse{}, nil
	}
	if r.GetNode() == "n3" {
		return &scorev1.ListChannelsResponse{Silent: []string{"n3"}}, nil
	}
	return reply, nil
}

func TestChannelOutput(t *testing.T) {
	socket := clienttest.Serve(t, clienttest.Daemon{Channels: exampleChannels, Nodes: exampleNodes})
	pinned.File(t, "testdata/channels.txt", transcript(t, socket,
		"channel list", "channel list --job 3 --json", "channel list --node n3", "channel list --node n9",
		"channel show 3 0", "channel show 3 0 1 --json", "channel show 3 1", "channel show 3 0 7", "channel show 3", "channel show 3 x",
	))
}
