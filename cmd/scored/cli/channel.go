package cli

import (
	"io"
	"score/channels/abi"
	"score/cmd/cmdline"
	"score/scored/api/scorev1"
	"score/scored/client"
	"strconv"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

func channelCommand(c *caller) *cobra.Command {
	return parent("channel", "list and show the message channels of running jobs", channelListCommand(c), channelShowCommand(c), channelReadCommand())
}

// channelNote explains what the words of both commands mean.
const channelNote = `States: new, only its peers have used the channel; open, its rank uses it; closed by its
rank; gone, its rank has ended; local, all ranks are on one node; away, its job is not
on now and another one needs the channel, so messages that arrive are refused. A program
moves its messages itself (watched). When it has not done so for a while, the node's
agent does it for the program (driven, armed). While its job is not on, nobody does
(paused), and messages that arrive wait.`

func channelListCommand(c *caller) *cobra.Command {
	var request scorev1.ListChannelsRequest
	var asJSON bool
	command := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "list the channels of your running jobs",
		Long:    "Lists the channels of your running jobs; root sees those of all users.\n\n" + channelNote,
		Args:    cmdline.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			reply, err := listChannels(command, daemon, &request)
			if err != nil {
				return err
			}
			if len(reply.GetChannels()) == 0 && len(reply.GetSilent()) == 0 {
				if err := knownNode(command, daemon, request.GetNode()); err != nil {
					return err
				}
			}
			if asJSON {
				return printChannelsJSON(command.OutOrStdout(), reply)
			}
			return printChannels(command.OutOrStdout(), reply)
		}),
	}
	command.Flags().Uint64Var(&request.JobId, "job", 0, "channels of this `job` only")
	_ = command.RegisterFlagCompletionFunc("job", c.completeJobs(unfinishedJobs)) // it was defined just now
	command.Flags().StringVar(&request.Node, "node", "", "channels on this `node` only")
	_ = command.RegisterFlagCompletionFunc("node", c.completeNodes) // likewise
	AddJSON(command, &asJSON)
	return command
}

// knownNode returns an error if a node is named and there is none of that name.
func knownNode(command *cobra.Command, daemon *client.Client, name string) error {
	if name == "" {
		return nil
	}
	nodes, err := listNodes(command, daemon)
	if err != nil {
		return err
	}
	if nodeIn(nodes, name) == nil {
		return unknownNode(name)
	}
	return nil
}

// listChannels asks the leader for channels, and warns of nodes that did not answer.
func listChannels(command *cobra.Command, daemon *client.Client, request *scorev1.ListChannelsRequest) (*scorev1.ListChannelsResponse, error) {
	reply, err := daemon.Jobs.ListChannels(command.Context(), connect.NewRequest(request))
	if err != nil {
		return nil, err
	}
	warnOfSilent(command.ErrOrStderr(), reply.Msg.GetSilent())
	return reply.Msg, nil
}

func printChannels(out io.Writer, reply *scorev1.ListChannelsResponse) error {
	t := newTable(out, "JOB", "RANK", "NODE", "CHANNEL", "STATE", "DRIVER", "SENT", "BYTES", "RECEIVED", "BYTES", "REFUSED", "SLEEPS")
	for _, channel := range reply.GetChannels() {
		t.row(strconv.FormatUint(channel.GetJobId(), 10), strconv.Itoa(int(channel.GetRank())), channel.GetNode(),
			strconv.Itoa(int(channel.GetChannel())), channelState(channel), channel.GetDriver(),
			counterWord(channel, abi.Sent), shortBytes(counterOf(channel, abi.SentBytes)),
			counterWord(channel, abi.Received), shortBytes(counterOf(channel, abi.ReceivedBytes)),
			counterWord(channel, abi.Refused), counterWord(channel, abi.Sleeps))
	}
	return t.flush()
}

func channelState(channel *scorev1.ChannelState) string {
	state := channel.GetState()
	if channel.GetAsleep() {
		state += ", asleep"
	}
	if channel.GetAway() {
		state += ", away"
	}
	return state
}

// counterOf returns a counter, or 0 if the node does not know it.
func counterOf(channel *scorev1.ChannelState, id abi.Counter) uint64 {
	if all := channel.GetCounters(); int(id) < len(all) {
		return all[id]
	}
	return 0
}

func counterWord(channel *scorev1.ChannelState, id abi.Counter) string {
	return strconv.FormatUint(counterOf(channel, id), 10)
}
