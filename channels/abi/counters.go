package abi

// Counter is the index of a counter in an image.
type Counter uint32

// The counters. New ones are added at the end.
const (
	Sent Counter = iota
	SentBytes
	Received
	ReceivedBytes
	Refused
	Sleeps
	Wakes
	Voided
	Damaged
	LanesOpened
	LockTaken
	LockRefused
	LockBroken
	LockTimeouts
	Nacked
	Resent
	CreditRequests
	CreditsGranted
	LanesGivenBack
	LanesWanted
	DirectOperations
	WindowsMapped
	CopiedBytes
	StreamedBytes
	Rendezvous
	RendezvousOpen
	UnexpectedBytes
	PeersGivenUp
	BulkBytes
	PiecesAgain
	PullsOpen
)

// Unit says what a counter counts.
type Unit string

// Units.
const (
	Messages Unit = "messages"
	Bytes    Unit = "bytes"
	Events   Unit = "events"
)

// Description says what a counter means.
type Description struct {
	ID      Counter
	Name    string // as users see it
	Meaning string
	Unit    Unit
}

// Counters is the table of all counters of a context. Each is a 64-bit word of
// the image, at Layout.Counters + 8*ID, so they can be read while the rank runs
// and after it died. The rank publishes its own when it finds nothing to do and
// at latest every PublishEvery messages.
var Counters = [...]Description{
	{Sent, "sent", "messages handed over or kept for sending", Messages},
	{SentBytes, "sent_bytes", "bytes of those messages", Bytes},
	{Received, "received", "messages taken from the inbox", Messages},
	{ReceivedBytes, "received_bytes", "bytes of those messages", Bytes},
	{Refused, "refused", "sends that found no space", Events},
	{Sleeps, "sleeps", "times the rank went to sleep for want of messages", Events},
	{Wakes, "wakes", "times the rank woke a sleeping peer", Events},
	{Voided, "voided", "messages lost because their sender died while writing them", Messages},
	{Damaged, "damaged", "rings given up because what they said was impossible", Events},
	{LanesOpened, "lanes", "lanes that senders of this node opened", Events},
	{LockTaken, "lock_taken", "times the agent took the driver lock", Events},
	{LockRefused, "lock_refused", "times the process found the driver lock revoked", Events},
	{LockBroken, "lock_broken", "times the driver lock's holder had died", Events},
	{LockTimeouts, "lock_timeouts", "times the driver lock's holder did not let go in time", Events},
	{Nacked, "nacked", "frames from other nodes that were refused: no room, not resident, or one before them was missing", Events},
	{Resent, "resent", "frames sent to other nodes once more", Events},
	{CreditRequests, "credit_requests", "requests for credits sent to ranks of other nodes", Events},
	{CreditsGranted, "credits_granted", "credits granted to ranks of other nodes, their first ones not counted", Events},
	{LanesGivenBack, "lanes_given_back", "lanes that their senders gave back, or left when they died", Events},
	{LanesWanted, "lanes_wanted", "times a sender of this node found no free lane", Events},
	{DirectOperations, "direct_operations", "one-sided operations done by load and store in windows that are mapped", Events},
	{WindowsMapped, "windows_mapped", "windows of ranks of this node that were mapped, for one-sided operations", Events},
	{CopiedBytes, "copied_bytes", "bytes that the kernel copied between this process and others", Bytes},
	{StreamedBytes, "streamed_bytes", "bytes of long transfers that went in pieces through the channel, or as bulk datagrams", Bytes},
	{Rendezvous, "rendezvous", "tagged messages sent as rendezvous: too long, or no room for them at the receiver", Messages},
	{RendezvousOpen, "rendezvous_open", "rendezvous of this rank's sends that are under way now", Messages},
	{UnexpectedBytes, "unexpected_bytes", "bytes of tagged messages that are kept now until they are received", Bytes},
	{PeersGivenUp, "peers_given_up", "ranks given up because they broke the protocol of one-sided operations or tags", Events},
	{BulkBytes, "bulk_bytes", "bytes of long transfers that were sent to other nodes as bulk datagrams", Bytes},
	{PiecesAgain, "pieces_again", "pieces of long transfers that were asked for again: bulk datagrams were lost", Events},
	{PullsOpen, "pulls_open", "long transfers from other nodes that this rank is reading now", Events},
}

// PublishEvery bounds how far the counters in the image lag behind a rank
// that never pauses.
const PublishEvery = 64
