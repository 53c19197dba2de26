package dataplane

import (
	"context"
	"score/channels/abi"
	"score/channels/link"
	"score/channels/node"
	"score/flowctl"
	"score/nodeagent/wakesource"
	"score/scored/api/scorev1"
	"slices"
	"time"
)

// States of a channel, as users see them.
const (
	stateNew    = "new" // a peer has sent to it, and its rank has not opened it yet
	stateOpen   = "open"
	stateClosed = "closed"
	stateGone   = "gone" // its process ended without closing it
)

// Channels describes the contexts of the job's ranks here, by rank and channel.
func (j *Job) Channels() []*scorev1.ChannelState {
	contexts := j.handle.Contexts()
	all := make([]*scorev1.ChannelState, len(contexts))
	for i := range contexts {
		all[i] = j.channel(&contexts[i])
	}
	return all
}

// Messages returns the message counts of the job's ranks here; see node.Job.Messages. It is nil if
// none of them ever had a channel.
func (j *Job) Messages(limit int) *scorev1.Messages {
	m := j.handle.Messages(limit)
	if m.Contexts == 0 {
		return nil
	}
	return &scorev1.Messages{
		Contexts: m.Contexts, Sent: m.Sent, SentBytes: m.SentBytes, Received: m.Received, ReceivedBytes: m.ReceivedBytes,
		Full: m.Full, Nacked: m.Nacked, Resent: m.Resent,
		CreditRequests: m.CreditRequests, CreditsGranted: m.CreditsGranted,
		Transports: transports(m.Transports),
	}
}

func transports(t node.Transports) *scorev1.Transports {
	return &scorev1.Transports{
		Lanes: t.Lanes, LanesGivenBack: t.LanesGivenBack, DirectOperations: t.Direct, WindowsMapped: t.Mapped,
		CopiedBytes: t.Copied, StreamedBytes: t.Streamed, BulkBytes: t.Bulk, PiecesAgain: t.Again,
		Rendezvous: t.Rendezvous, PeersGivenUp: t.GivenUp,
		RendezvousOpen: t.RendezvousOpen, UnexpectedBytes: t.Unexpected,
	}
}

// Dump copies the contexts of the selected ranks here; see node.Job.Dump.
func (j *Job) Dump(ctx context.Context, wanted func(rank uint32) bool, limit int64, timeout time.Duration) ([]node.Dumped, error) {
	return j.handle.Dump(ctx, wanted, limit, timeout)
}

// Rank describes the contexts of one rank, and its exchange with ranks on other nodes.
func (j *Job) Rank(rank uint32) []*scorev1.ChannelState {
	all := slices.DeleteFunc(j.Channels(), func(c *scorev1.ChannelState) bool { return c.GetRank() != rank })
	for _, c := range all {
		peers, err := j.handle.Peers(c.GetChannel(), rank)
		if err != nil {
			c.Trouble = err.Error()
		}
		for i := range peers {
			c.Peers = append(c.Peers, peerOf(&peers[i]))
		}
	}
	return all
}

func (j *Job) channel(c *node.ContextStatus) *scorev1.ChannelState {
	state := &scorev1.ChannelState{
		JobId: j.id, Rank: c.Rank, Channel: c.Channel, State: stateOf(c), Asleep: c.Asleep, Away: c.Away, Driver: c.Mode,
		Pid: int32(c.Owner.Pid), Counters: c.Counters[:], Port: portOf(&c.Port),
	}
	if !c.Address.None() {
		state.Address = c.Address.String()
	}
	return state
}

func stateOf(c *node.ContextStatus) string {
	switch {
	case c.State == abi.StateClosed:
		return stateClosed
	case c.State == abi.StateGone:
		return stateGone
	case c.Owner.Pid == 0:
		return stateNew
	default:
		return stateOpen
	}
}

func portOf(s *link.Stats) *scorev1.PortCounts {
	return &scorev1.PortCounts{
		Sent: s.Sent, SentBytes: s.SentBytes, Received: s.Received, ReceivedBytes: s.ReceivedBytes,
		Dropped: s.Dropped, Truncated: s.Truncated, Overflowed: s.Overflowed, Fragmented: s.Fragmented, Calls: s.Calls,
	}
}

func peerOf(p *node.PeerStatus) *scorev1.ChannelPeer {
	peer := &scorev1.ChannelPeer{
		Rank: p.Rank, Window: uint32(p.Sender.Window), Unacknowledged: uint32(p.Sender.Next - p.Sender.Acked),
		Queued: uint32(p.Sender.Queued - p.Sender.Next), Transmissions: uint32(p.Sender.Sent),
		Failed: p.Sender.Failed, Suspended: p.Sender.Suspended, RoundTripNanos: p.Sender.RoundTrip.Nanoseconds(),
		Received: uint32(p.Receiver.Next), Answers: p.Receiver.Kind.String(),
	}
	if p.Sender.Hold != flowctl.Open {
		peer.Hold = p.Sender.Hold.String()
	}
	return peer
}

// Cut fills c with the counts of the job's channels here, see node.Job.Cut.
func (j *Job) Cut(c *node.Cut) { j.handle.Cut(c) }

// Own returns the kernel's names of the images and sockets of the job's channels here; the kernel
// uses them to show what a process waits for.
func (j *Job) Own() wakesource.Own {
	images, sockets := j.handle.Inodes()
	return wakesource.Own{Images: images, Sockets: sockets}
}
