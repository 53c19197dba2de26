package cli

import (
	"fmt"
	"io"
	"score/scored/api/plural"
	"score/scored/api/scorev1"
	"strconv"
	"time"
)

// messagesData describes the messages of ranks, as --json prints it.
type messagesData struct {
	Channels      uint64 `json:"channels"`
	Sent          uint64 `json:"sent"`
	SentBytes     uint64 `json:"sent_bytes"`
	Received      uint64 `json:"received"`
	ReceivedBytes uint64 `json:"received_bytes"`
	Full          uint64 `json:"full"`
	Nacked        uint64 `json:"nacked"`
	Resent        uint64 `json:"resent"`

	Transports *transportsData `json:"transports,omitempty"`
}

// transportsData describes the work of the layers above channels, as --json prints it.
type transportsData struct {
	Lanes            uint64 `json:"lanes"`
	LanesGivenBack   uint64 `json:"lanes_given_back"`
	DirectOperations uint64 `json:"direct_operations"`
	WindowsMapped    uint64 `json:"windows_mapped"`
	CopiedBytes      uint64 `json:"copied_bytes"`
	StreamedBytes    uint64 `json:"streamed_bytes"`
	BulkBytes        uint64 `json:"bulk_bytes"`
	PiecesAgain      uint64 `json:"pieces_again"`
	Rendezvous       uint64 `json:"rendezvous"`
	RendezvousOpen   uint64 `json:"rendezvous_open"`
	UnexpectedBytes  uint64 `json:"unexpected_bytes"`
	PeersGivenUp     uint64 `json:"peers_given_up"`
}

func newTransportsData(t *scorev1.Transports) *transportsData {
	if t == nil {
		return nil
	}
	return &transportsData{
		t.GetLanes(), t.GetLanesGivenBack(), t.GetDirectOperations(), t.GetWindowsMapped(), t.GetCopiedBytes(), t.GetStreamedBytes(),
		t.GetBulkBytes(), t.GetPiecesAgain(), t.GetRendezvous(), t.GetRendezvousOpen(), t.GetUnexpectedBytes(), t.GetPeersGivenUp(),
	}
}

func newMessagesData(m *scorev1.Messages) *messagesData {
	if m == nil {
		return nil
	}
	return &messagesData{
		Channels: m.GetContexts(), Sent: m.GetSent(), SentBytes: m.GetSentBytes(), Received: m.GetReceived(),
		ReceivedBytes: m.GetReceivedBytes(), Full: m.GetFull(), Nacked: m.GetNacked(), Resent: m.GetResent(),
		Transports: newTransportsData(m.GetTransports()),
	}
}

// fencesData describes the exchange of ranks with those of other nodes, as --json prints it.
type fencesData struct {
	Fences      uint64 `json:"fences"`
	PlainBytes  uint64 `json:"plain_bytes"`
	PackedBytes uint64 `json:"packed_bytes"`
}

func newFencesData(f *scorev1.Fences) *fencesData {
	if f == nil {
		return nil
	}
	return &fencesData{f.GetFences(), f.GetPlainBytes(), f.GetPackedBytes()}
}

// shareData is what a node measured of a job.
type shareData struct {
	Node    string       `json:"node"`
	Usage   usageData    `json:"usage"`
	Total   *stepsData   `json:"total,omitempty"`
	Flush   *stepsData   `json:"flush,omitempty"`
	Flushes *flushesData `json:"flushes,omitempty"`
}

func newSharesData(shares []*scorev1.NodeShare) []shareData {
	data := make([]shareData, 0, len(shares))
	for _, s := range shares {
		data = append(
			data,
			shareData{s.GetNode(), newUsageData(s.GetUsage()), newStepsData(s.GetTotal()), newStepsData(s.GetFlush()), newFlushesData(s.GetFlushes())},
		)
	}
	return data
}

// costLines returns the lines about the time that a job got and the messages that it sent.
func costLines(reply *scorev1.GetJobResponse) [][2]string {
	usage := reply.GetJob().GetUsage()
	lines := [][2]string{{"slices", fmt.Sprintf("%d (%s)", usage.GetSlices(), lateFreezes(usage.GetLateFreezes()))}}
	var count uint64
	var sum int64
	for _, share := range reply.GetNodes() {
		count += share.GetTotal().GetCount()
		sum += share.GetTotal().GetSumNanos()
	}
	if count > 0 {
		lines = append(
			lines,
			[2]string{"switches", fmt.Sprintf("%d, mean %s from the planned instant to running, on all its nodes together", count, meanTime(count, sum))},
		)
	}
	lines = append(lines, [2]string{"lost", lostWords(usage)})
	if f := usage.GetFences(); f != nil {
		lines = append(lines, [2]string{"fences", fenceWords(f)})
	}
	if m := usage.GetMessages(); m != nil {
		lines = append(lines,
			[2]string{"messages", fmt.Sprintf("%d sent (%s), %d received (%s)",
				m.GetSent(), shortBytes(m.GetSentBytes()), m.GetReceived(), shortBytes(m.GetReceivedBytes()))},
			[2]string{"trouble", fmt.Sprintf("%s found no space, %s refused, %d sent once more",
				plural.Of(m.GetFull(), "send", "sends"), plural.Of(m.GetNacked(), "frame", "frames"), m.GetResent())},
		)
		lines = append(lines, transportLines(m.GetTransports())...)
	}
	return lines
}

// transportLines returns the lines about the layers above channels, if they did anything.
func transportLines(t *scorev1.Transports) (lines [][2]string) {
	if t.GetRendezvous()+t.GetCopiedBytes()+t.GetStreamedBytes() > 0 {
		lines = append(lines, [2]string{"long messages", fmt.Sprintf("%d rendezvous, %d under way; %s copied inside nodes, %s streamed, %s unexpected",
			t.GetRendezvous(), t.GetRendezvousOpen(), shortBytes(t.GetCopiedBytes()), shortBytes(t.GetStreamedBytes()), shortBytes(t.GetUnexpectedBytes()))})
	}
	if t.GetDirectOperations() > 0 {
		lines = append(lines, [2]string{"one-sided", fmt.Sprintf("%d by load and store, %s mapped",
			t.GetDirectOperations(), plural.Of(t.GetWindowsMapped(), "window", "windows"))})
	}
	return lines
}

// fenceWords describes fences over several nodes and their traffic.
func fenceWords(f *scorev1.Fences) string {
	words := fmt.Sprintf("%d over several nodes", f.GetFences())
	if plain := f.GetPlainBytes(); plain > 0 {
		words += fmt.Sprintf("; keys and values of %s went as %s, %.2f of it", shortBytes(plain), shortBytes(f.GetPackedBytes()),
			float64(f.GetPackedBytes())/float64(plain))
	}
	return words
}

// lostWords returns the time lost to switching, also as a part of the job's slices.
func lostWords(usage *scorev1.Usage) string {
	lost, ran := usage.GetSwitchNanos(), usage.GetRunNanos()
	words := shortTime(time.Duration(lost)) + " to switching"
	if lost > 0 && ran > 0 {
		words += fmt.Sprintf(", %.2f %% of its slices", 100*float64(lost)/(float64(lost)+float64(ran)))
	}
	return words
}

func meanTime(count uint64, sumNanos int64) string {
	if count == 0 {
		return "-"
	}
	return shortTime(time.Duration(uint64(max(sumNanos, 0)) / count))
}

// printShares prints a line for each node that reported something.
func printShares(out io.Writer, reply *scorev1.GetJobResponse) error {
	if len(reply.GetNodes()) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	t := newTable(out, "NODE", "RUN TIME", "SLICES", "SWITCHES", "MEAN SWITCH", "FLUSH", "LOST", "SENT", "RECEIVED", "REFUSED", "RESENT")
	for _, s := range reply.GetNodes() {
		u, m := s.GetUsage(), s.GetUsage().GetMessages()
		t.row(s.GetNode(), shortTime(time.Duration(u.GetRunNanos())), strconv.FormatUint(u.GetSlices(), 10),
			strconv.FormatUint(s.GetTotal().GetCount(), 10), meanTime(s.GetTotal().GetCount(), s.GetTotal().GetSumNanos()),
			meanTime(s.GetFlush().GetCount(), s.GetFlush().GetSumNanos()), shortTime(time.Duration(u.GetSwitchNanos())),
			strconv.FormatUint(m.GetSent(), 10), strconv.FormatUint(m.GetReceived(), 10),
			strconv.FormatUint(m.GetNacked(), 10), strconv.FormatUint(m.GetResent(), 10))
	}
	if err := t.flush(); err != nil {
		return err
	}
	started, since := reply.GetJob().GetStartedNanos(), reply.GetMeasuredSinceNanos()
	if started != 0 && since > started+sinceSlack.Nanoseconds() {
		_, err := fmt.Fprintf(out, "Switches were counted from %s on, when this server began to lead.\n", instant(since))
		return err
	}
	return nil
}

// sinceSlack is longer than a first report takes to come.
const sinceSlack = 5 * time.Second
