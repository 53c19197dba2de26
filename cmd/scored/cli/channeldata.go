package cli

import (
	"io"
	"score/channels/abi"
	"score/scored/api/scorev1"
)

// channelData is a channel as --json prints it.
type channelData struct {
	Job      uint64            `json:"job"`
	Rank     uint32            `json:"rank"`
	Node     string            `json:"node"`
	Channel  uint32            `json:"channel"`
	State    string            `json:"state"`
	Asleep   bool              `json:"asleep"`
	Driver   string            `json:"driver"`
	PID      int32             `json:"pid"`
	Address  string            `json:"address,omitempty"`
	Counters map[string]uint64 `json:"counters"`
	Peers    []peerData        `json:"peers,omitempty"`
	Trouble  string            `json:"trouble,omitempty"`
}

// peerData is the exchange with a rank on another node.
type peerData struct {
	Rank           uint32 `json:"rank"`
	Window         uint32 `json:"window"`
	Unacknowledged uint32 `json:"unacknowledged"`
	Queued         uint32 `json:"queued"`
	Transmissions  uint32 `json:"transmissions"`
	Hold           string `json:"hold"`
	Failed         bool   `json:"failed"`
	Suspended      bool   `json:"suspended"`
	RoundTripNanos int64  `json:"round_trip_nanos"`
	Received       uint32 `json:"received"`
	Answers        string `json:"answers"`
}

func newChannelData(channel *scorev1.ChannelState) channelData {
	data := channelData{
		Job: channel.GetJobId(), Rank: channel.GetRank(), Node: channel.GetNode(), Channel: channel.GetChannel(),
		State: channel.GetState(), Asleep: channel.GetAsleep(), Driver: channel.GetDriver(), PID: channel.GetPid(),
		Address: channel.GetAddress(), Trouble: channel.GetTrouble(), Counters: make(map[string]uint64),
	}
	for _, c := range abi.Counters {
		data.Counters[c.Name] = counterOf(channel, c.ID)
	}
	if channel.GetAddress() != "" {
		for _, c := range portCounters(channel.GetPort()) {
			data.Counters[c.name] = c.value
		}
	}
	for _, peer := range channel.GetPeers() {
		data.Peers = append(data.Peers, peerData{
			Rank: peer.GetRank(), Window: peer.GetWindow(), Unacknowledged: peer.GetUnacknowledged(), Queued: peer.GetQueued(),
			Transmissions: peer.GetTransmissions(), Hold: peer.GetHold(), Failed: peer.GetFailed(), Suspended: peer.GetSuspended(),
			RoundTripNanos: peer.GetRoundTripNanos(), Received: peer.GetReceived(), Answers: peer.GetAnswers(),
		})
	}
	return data
}

func printChannelsJSON(out io.Writer, reply *scorev1.ListChannelsResponse) error {
	list := make([]channelData, 0, len(reply.GetChannels()))
	for _, channel := range reply.GetChannels() {
		list = append(list, newChannelData(channel))
	}
	return printJSON(out, struct {
		Channels []channelData `json:"channels"`
		Silent   []string      `json:"silent"`
	}{list, nonNil(reply.GetSilent())})
}
