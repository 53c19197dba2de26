package channels

import (
	"score/channels/abi"
	"score/channels/release"
)

// Tally is what a rank counts for itself and shows now and then.
type Tally struct {
	Sent, SentBytes uint64
	Refused         uint64
	Sleeps, Wakes   uint64
	shown           uint64
}

// Shown is the number of sent messages as last shown.
func (t *Tally) Shown() uint64 { return t.shown }

// StackTally is what the layers of messages above a channel count.
type StackTally struct {
	Direct, Mapped             uint64 // one-sided operations by load and store; windows mapped for them
	Copied, Streamed           uint64 // bytes of long transfers
	Bulk, Again                uint64 // of Streamed, those sent as bulk datagrams; pieces asked for again
	Pulls                      uint64 // long transfers that are read now
	Rendezvous, RendezvousOpen uint64
	Unexpected                 uint64 // bytes that are kept now
	GivenUp                    uint64 // peers
}

// ShowStack publishes the counts in the image.
func (img *Image) ShowStack(t *StackTally) {
	release.Store64(img.counter(abi.DirectOperations), t.Direct)
	release.Store64(img.counter(abi.WindowsMapped), t.Mapped)
	release.Store64(img.counter(abi.CopiedBytes), t.Copied)
	release.Store64(img.counter(abi.StreamedBytes), t.Streamed)
	release.Store64(img.counter(abi.Rendezvous), t.Rendezvous)
	release.Store64(img.counter(abi.RendezvousOpen), t.RendezvousOpen)
	release.Store64(img.counter(abi.UnexpectedBytes), t.Unexpected)
	release.Store64(img.counter(abi.PeersGivenUp), t.GivenUp)
	release.Store64(img.counter(abi.BulkBytes), t.Bulk)
	release.Store64(img.counter(abi.PiecesAgain), t.Again)
	release.Store64(img.counter(abi.PullsOpen), t.Pulls)
}

// Show publishes the counts in the image.
func (img *Image) Show(t *Tally) {
	t.shown = t.Sent
	release.Store64(img.counter(abi.Sent), t.Sent)
	release.Store64(img.counter(abi.SentBytes), t.SentBytes)
	release.Store64(img.counter(abi.Refused), t.Refused)
	release.Store64(img.counter(abi.Sleeps), t.Sleeps)
	release.Store64(img.counter(abi.Wakes), t.Wakes)
}
