package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"score/channels/abi"
	"score/channels/dump"
	"score/flowctl"
	"score/scored/api/plural"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

func channelReadCommand() *cobra.Command {
	var asJSON, all bool
	command := &cobra.Command{
		Use:   "read FILE...",
		Short: "print channels that scored job dump wrote",
		Long: `Prints channels that 'scored job dump' wrote: state, counters, the messages in the
inbox (its rank may have taken the first ones and not released them) and the exchange
with each rank on another node. Frames are numbered from 0. NEXT is the frame that is
sent next; KEPT are messages that are not acknowledged. No daemon is needed.`,
		Args: needs(0, "files"),
		RunE: func(command *cobra.Command, files []string) error {
			reports := make([]*dump.Report, 0, len(files))
			for _, file := range files {
				report, err := readDump(file)
				if err != nil {
					return fmt.Errorf("%s: %w", file, err)
				}
				reports = append(reports, report)
			}
			if asJSON {
				return printJSON(command.OutOrStdout(), struct {
					Channels []*dump.Report `json:"channels"`
				}{reports})
			}
			for i, report := range reports {
				if i > 0 {
					fmt.Fprintln(command.OutOrStdout())
				}
				if err := printReport(command.OutOrStdout(), report, all); err != nil {
					return err
				}
			}
			return nil
		},
	}
	command.Flags().BoolVarP(&all, "all", "a", false, "list each message")
	AddJSON(command, &asJSON)
	return command
}

func readDump(path string) (report *dump.Report, err error) {
	file, err := os.Open(path)
	if err != nil {
		if cause := errors.Unwrap(err); cause != nil {
			err = cause // the caller says which file
		}
		return nil, err
	}
	defer file.Close()
	d, err := dump.Read(bufio.NewReader(file))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Report(), nil
}

func printReport(out io.Writer, r *dump.Report, all bool) error {
	t := newTable(out)
	t.row("channel", fmt.Sprintf("%d of rank %d, job %d", r.Head.Channel, r.Head.Rank, r.Head.Job))
	t.row("taken", instant(r.Head.TakenNanos)+" on node "+orDash(r.Head.Node)+", "+takenWords(r.Head.GangOn, r.Head.Moving))
	t.row("state", reportState(r))
	t.row("ranks", fmt.Sprintf("%d, on this node %s", r.Ranks, numbers(r.Local)))
	if r.PID != 0 {
		t.row("process", strconv.FormatUint(uint64(r.PID), 10))
	}
	t.row("inbox", plural.Of(r.Inbox.Messages, "message", "messages")+", "+shortBytes(r.Inbox.Bytes))
	if err := t.flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	t = newTable(out, "COUNTER", "VALUE", "MEANING")
	for _, c := range abi.Counters {
		if value := r.Counters[c.Name]; value != 0 {
			t.row(c.Name, strconv.FormatUint(value, 10), c.Meaning)
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	if err := printInbox(out, r, all); err != nil {
		return err
	}
	return printReportPeers(out, r, all)
}

func reportState(r *dump.Report) string {
	state := r.State
	if r.PID == 0 && state == "open" {
		state = "new"
	}
	if r.Asleep {
		state += ", asleep"
	}
	if r.Away {
		state += ", away"
	}
	return state
}

// printInbox lists the messages, or how many there are from each rank.
func printInbox(out io.Writer, r *dump.Report, all bool) error {
	if r.Inbox.Messages == 0 {
		return nil
	}
	fmt.Fprintln(out)
	if !all {
		return printSenders(out, r)
	}
	t := newTable(out, "FROM", "BYTES", "RING", "STATE", "BEGINS WITH")
	for _, m := range r.Inbox.Listed {
		t.row(strconv.FormatUint(uint64(m.From), 10), strconv.Itoa(m.Length), m.Ring, orDash(m.State), orDash(m.Head))
	}
	return t.flush()
}

func printSenders(out io.Writer, r *dump.Report) error {
	type sums struct {
		messages int
		bytes    uint64
		first    dump.Message
	}
	var order []uint32
	senders := make(map[uint32]*sums)
	for _, m := range r.Inbox.Listed {
		s := senders[m.From]
		if s == nil {
			s = &sums{first: m}
			senders[m.From] = s
			order = append(order, m.From)
		}
		s.messages++
		s.bytes += uint64(m.Length)
	}
	t := newTable(out, "FROM", "MESSAGES", "BYTES", "RING", "FIRST ONE", "BEGINS WITH")
	for _, from := range order {
		s := senders[from]
		t.row(strconv.FormatUint(uint64(from), 10), strconv.Itoa(s.messages), shortBytes(s.bytes), s.first.Ring,
			plural.Of(s.first.Length, "byte", "bytes"), orDash(s.first.Head))
	}
	return t.flush()
}

func printReportPeers(out io.Writer, r *dump.Report, all bool) error {
	if len(r.Peers) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	t := newTable(
		out,
		"PEER",
		"ACKNOWLEDGED",
		"NEXT",
		"END",
		"KEPT",
		"BYTES",
		"DATAGRAMS",
		"ANSWERED",
		"WINDOW",
		"SENDING",
		"ROUND TRIP",
		"RECEIVED",
		"ECHO",
		"TELLS",
	)
	for i := range r.Peers {
		p := &r.Peers[i]
		t.row(word32(p.Rank), word32(p.Acknowledged), word32(p.Next), word32(p.End), strconv.Itoa(p.Kept.Messages), shortBytes(p.Kept.Bytes),
			word32(p.Transmissions), word32(p.Answered), strconv.Itoa(int(p.Window)), dumpSending(p), shortTime(time.Duration(p.RoundTripNanos)),
			word32(p.Received), word32(p.Echo), p.Tells)
	}
	if err := t.flush(); err != nil || !all {
		return err
	}
	return printKept(out, r)
}

func printKept(out io.Writer, r *dump.Report) error {
	t := newTable(out, "FOR PEER", "BYTES", "FRAMES", "ARE")
	some := false
	for i := range r.Peers {
		p := &r.Peers[i]
		for _, m := range p.Kept.Listed {
			some = true
			t.row(word32(p.Rank), strconv.Itoa(m.Length), fmt.Sprintf("%d to %d", m.First, m.First+flowctl.Seq(max(m.Frames, 1))-1), frameState(p, m))
		}
		if p.Kept.Trouble != "" {
			some = true
			t.row(word32(p.Rank), "-", "-", "damaged: "+p.Kept.Trouble)
		}
	}
	if !some {
		return nil
	}
	fmt.Fprintln(out)
	return t.flush()
}

// frameState reports whether the message is on its way.
func frameState(p *dump.Peer, m dump.KeptMessage) string {
	switch {
	case !m.First.Before(p.Next):
		return "queued"
	case p.Next.Before(m.First + flowctl.Seq(m.Frames)):
		return "sent in part"
	default:
		return "unacknowledged"
	}
}

func dumpSending(p *dump.Peer) string {
	switch {
	case p.Closed:
		return "closed"
	case p.Failed:
		return "given up"
	case p.Suspended:
		return "suspended"
	case p.Hold != "":
		return p.Hold
	default:
		return "yes"
	}
}

func word32[N ~uint32](n N) string { return strconv.FormatUint(uint64(n), 10) }
