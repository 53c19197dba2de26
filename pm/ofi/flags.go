package ofi

// Flags of operations and completions, with the values of libfabric's FI_ constants.
type Flags uint64

// Flags that are understood; others are ignored.
const (
	Message      Flags = 1 << 1
	RMA          Flags = 1 << 2
	Tagged       Flags = 1 << 3
	Atomic       Flags = 1 << 4
	Read         Flags = 1 << 8
	Write        Flags = 1 << 9
	Received     Flags = 1 << 10
	Sent         Flags = 1 << 11
	RemoteRead   Flags = 1 << 12
	RemoteWrite  Flags = 1 << 13
	MultiReceive Flags = 1 << 16 // one buffer for many messages; in a completion: it is given back
	RemoteData   Flags = 1 << 17 // immediate data comes along
	Peek         Flags = 1 << 19
	Fence        Flags = 1 << 21
	Completion   Flags = 1 << 24
	Inject       Flags = 1 << 25 // the buffer is the caller's again at once

	DeliveryComplete Flags = 1 << 28 // the target has the bytes
	MatchComplete    Flags = 1 << 31 // a receive has the message
	Discard          Flags = 1 << 58
	Quiet            Flags = 1 << 60 // no completion, not even if all operations complete; not libfabric's
	Claim            Flags = 1 << 59
)

// Sizes and limits of a domain.
const (
	// InjectSize is the longest message that may be injected: what one frame between nodes carries
	// beside others.
	InjectSize = 4096
	// NameBytes is the length of an address.
	NameBytes = 64
)
