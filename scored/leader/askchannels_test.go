package leader

import (
	"errors"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"slices"
	"testing"
)

// Channels are asked from all nodes with jobs of the caller, with one question for each node.
func TestChannelsAreToldToWhoControlsTheJob(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		first, second := join(t, l, "n1"), join(t, l, "n2")
		id := mustSubmit(t, l, jobSpec(4))
		deliver(t, l, "n1", first, prepared(id))
		deliver(t, l, "n2", second, prepared(id))
		other := Caller{UID: owner.UID + 1}
		if _, err := l.Channels(t.Context(), &scorev1.ListChannelsRequest{JobId: id}, other); !errors.Is(err, ErrDenied) {
			t.Errorf("another user gets: %v", err)
		}
		if all, err := l.Channels(t.Context(), &scorev1.ListChannelsRequest{}, other); err != nil || len(all.GetChannels()) != 0 {
			t.Errorf("another user gets %v, %v", all, err)
		}
		if _, err := l.Channels(t.Context(), &scorev1.ListChannelsRequest{JobId: id + 1}, owner); !errors.Is(err, ErrNoJob) {
			t.Errorf("no such job: %v", err)
		}
		answers := make(chan *scorev1.ListChannelsResponse, 1)
		go func() {
			response, err := l.Channels(t.Context(), &scorev1.ListChannelsRequest{}, owner)
			if err != nil {
				t.Error(err)
			}
			answers <- response
		}()
		first.until(t, "AskChannels 2 of [1]") // the first one was about no job
		second.until(t, "AskChannels 2 of [1]")
		reply := func(ranks ...uint32) *agentpb.AgentMessage {
			m := &agentpb.ChannelsReply{Request: 2}
			for _, rank := range ranks {
				m.Channels = append(m.Channels, &scorev1.ChannelState{JobId: id, Rank: rank, Channel: 1})
			}
			return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Channels{Channels: m}}
		}
		deliver(t, l, "n2", second, reply(3, 2))
		response := <-answers // n1 does not answer in time
		if c := response.GetChannels(); len(c) != 2 || c[0].GetRank() != 2 || c[0].GetNode() != "n2" || !slices.Equal(response.GetSilent(), []string{"n1"}) {
			t.Errorf("got %v", response)
		}
		l.Disconnect("n1", first)
		l.Disconnect("n2", second)
		response, err := l.Channels(t.Context(), &scorev1.ListChannelsRequest{}, owner)
		if err != nil || !slices.Equal(response.GetSilent(), []string{"n1", "n2"}) {
			t.Errorf("nodes without a connection: %v, %v", response, err)
		}
	})
}
