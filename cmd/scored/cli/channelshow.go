package cli

import (
	"errors"
	"fmt"
	"io"
	"score/channels/abi"
	"score/scored/api/scorev1"
	"score/scored/client"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

func channelShowCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:               "show JOB RANK [CHANNEL]",
		Short:             "show the counters of a rank's channels, and its exchange with ranks on other nodes",
		ValidArgsFunction: c.completeJob(unfinishedJobs),
		Long: `Shows the counters of a rank's channels, the datagrams of the agent's port, and a
line for each rank on another node that it exchanged messages with.

` + channelNote,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) < 2 || len(arguments) > 3 {
				return errors.New("name a job, a rank and, if you like, a channel")
			}
			return nil
		},
		RunE: c.with(func(command *cobra.Command, arguments []string, daemon *client.Client) error {
			channels, err := findChannels(command, daemon, arguments)
			if err != nil {
				return err
			}
			if asJSON {
				return printChannelsJSON(command.OutOrStdout(), &scorev1.ListChannelsResponse{Channels: channels})
			}
			for i, channel := range channels {
				if i > 0 {
					fmt.Fprintln(command.OutOrStdout())
				}
				if err := printChannel(command.OutOrStdout(), channel); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	AddJSON(command, &asJSON)
	return command
}

// findChannels asks for the channels of JOB RANK [CHANNEL]; there is one at least.
func findChannels(command *cobra.Command, daemon *client.Client, arguments []string) ([]*scorev1.ChannelState, error) {
	id, err := parseJob(arguments[0])
	if err != nil {
		return nil, err
	}
	numbers := make([]uint32, len(arguments)-1)
	for i, argument := range arguments[1:] {
		n, err := strconv.ParseUint(argument, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is not the number of a rank or channel; 'scored channel list --job %d' shows them", argument, id)
		}
		numbers[i] = uint32(n)
	}
	reply, err := listChannels(command, daemon, &scorev1.ListChannelsRequest{JobId: id, OneRank: true, Rank: numbers[0]})
	if err != nil {
		return nil, err
	}
	channels := reply.GetChannels()
	if len(numbers) > 1 {
		channels = slices.DeleteFunc(channels, func(c *scorev1.ChannelState) bool { return c.GetChannel() != numbers[1] })
	}
	if len(channels) == 0 {
		return nil, fmt.Errorf("rank %d of job %d has no such channel; 'scored channel list --job %d' shows them", numbers[0], id, id)
	}
	return channels, nil
}

func printChannel(out io.Writer, channel *scorev1.ChannelState) error {
	t := newTable(out)
	t.row("channel", fmt.Sprintf("%d of rank %d, job %d", channel.GetChannel(), channel.GetRank(), channel.GetJobId()))
	t.row("node", channel.GetNode())
	t.row("state", channelState(channel))
	t.row("driver", channel.GetDriver())
	if channel.GetPid() != 0 {
		t.row("process", strconv.Itoa(int(channel.GetPid())))
	}
	if channel.GetAddress() != "" {
		t.row("address", channel.GetAddress())
	}
	if err := t.flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	t = newTable(out, "COUNTER", "VALUE", "MEANING")
	for _, c := range abi.Counters {
		t.row(c.Name, counterWord(channel, c.ID), c.Meaning)
	}
	if channel.GetAddress() != "" {
		for _, c := range portCounters(channel.GetPort()) {
			t.row(c.name, strconv.FormatUint(c.value, 10), c.meaning)
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	return printPeers(out, channel)
}

func printPeers(out io.Writer, channel *scorev1.ChannelState) error {
	if channel.GetTrouble() != "" {
		_, err := fmt.Fprintf(out, "\nThe exchange with other nodes cannot be looked at now: %s\n", printable(channel.GetTrouble()))
		return err
	}
	if len(channel.GetPeers()) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	t := newTable(out, "PEER", "WINDOW", "UNACKNOWLEDGED", "QUEUED", "DATAGRAMS", "SENDING", "ROUND TRIP", "RECEIVED", "TELLS")
	for _, peer := range channel.GetPeers() {
		t.row(strconv.Itoa(int(peer.GetRank())), strconv.Itoa(int(peer.GetWindow())), strconv.Itoa(int(peer.GetUnacknowledged())),
			strconv.Itoa(int(peer.GetQueued())), strconv.Itoa(int(peer.GetTransmissions())), sendingWord(peer),
			shortTime(time.Duration(peer.GetRoundTripNanos())), strconv.Itoa(int(peer.GetReceived())), peer.GetAnswers())
	}
	return t.flush()
}

func sendingWord(peer *scorev1.ChannelPeer) string {
	switch {
	case peer.GetFailed():
		return "given up"
	case peer.GetSuspended():
		return "suspended"
	case peer.GetHold() != "":
		return peer.GetHold()
	default:
		return "yes"
	}
}

// portCounter is a counter of the agent's port.
type portCounter struct {
	name    string
	value   uint64
	meaning string
}

func portCounters(port *scorev1.PortCounts) []portCounter {
	return []portCounter{
		{"port_sent", port.GetSent(), "datagrams that the agent sent for the rank"},
		{"port_sent_bytes", port.GetSentBytes(), "bytes of those datagrams"},
		{"port_received", port.GetReceived(), "datagrams that the agent received for the rank"},
		{"port_received_bytes", port.GetReceivedBytes(), "bytes of those datagrams"},
		{"port_dropped", port.GetDropped(), "datagrams that the system did not take from the agent"},
		{"port_truncated", port.GetTruncated(), "datagrams longer than any may be, thrown away by the agent"},
		{"port_overflowed", port.GetOverflowed(), "datagrams that found the receive queue full"},
		{"port_fragmented", port.GetFragmented(), "datagrams that were longer than the path takes"},
		{"port_calls", port.GetCalls(), "system calls of the agent that sent or received"},
	}
}
