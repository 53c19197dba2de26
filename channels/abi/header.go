package abi

// Magic is the first word of every image: "SCOREctx" in memory order.
const Magic uint64 = 0x78746345524f4353

// Version is the layout's version. An image of another version is refused.
const Version uint32 = 2

// Sizes that shape the layout.
const (
	// LineBytes is the unit of rings and the distance that keeps two
	// writers apart: a cache line of all processors we know but the largest ARM
	// ones, where it costs speed and nothing else.
	LineBytes = 64
	// PageBytes aligns the regions, so that an unused one costs no memory.
	PageBytes = 4096
	// PeerBytes is what a peer may cost.
	PeerBytes = 128
	// HeaderBytes is the size of Header.
	HeaderBytes = 208
)

// Header opens the image. The maker writes it once, before any other process
// sees the image; it never changes. Whoever attaches copies it and checks the copy.
type Header struct {
	Magic       uint64 // Magic
	Version     uint32 // Version
	HeaderBytes uint32 // size of this struct
	TotalBytes  uint64 // size of the image
	Job         uint64 // key of the job; never zero
	Rank        uint32 // whose context this is
	Ranks       uint32 // size of the job
	Channel     uint32 // number of the channel; 0 is the daemons' own
	LocalRanks  uint32 // entries of the local table
	Lanes       uint32 // rings with one writer; lane 0 is the network's
	LaneBytes   uint32 // size of each lane but the network's
	SharedBytes uint32 // size of the ring with many writers
	SendBytes   uint32 // size of the send buffer
	MaxMessage  uint32 // longest message in bytes
	NetBytes    uint32 // size of lane 0, the network's
	StatusAt    uint64 // offset of Status
	LockAt      uint64 // offset of Lock
	OwnersAt    uint64 // offset of the two Owner entries: process, agent
	WaitersAt   uint64 // offset of Waiters
	CountersAt  uint64 // offset of the counters, 8 bytes each
	LanesAt     uint64 // offset of the Lane entries
	SharedAt    uint64 // offset of Shared
	LocalAt     uint64 // offset of the local table: ranks of this node, 4 bytes each, ascending
	ActiveAt    uint64 // offset of the map of active peers, one bit per rank
	PeersAt     uint64 // offset of the peer table, PeerBytes each
	ArrivalsAt  uint64 // offset of the Arrival entries, one per rank
	GranulesAt  uint64 // offset of the send buffer's map, one bit per 64 bytes
	SendAt      uint64 // offset of the send buffer
	SharedRing  uint64 // offset of the shared ring
	NetRing     uint64 // offset of lane 0's ring
	LaneRings   uint64 // lane k's ring is k * LaneBytes behind this; there is none for k = 0
	Flow        uint32 // flow control with ranks on other nodes: FlowNack or FlowCredits
	_           uint32
}

// Values of Header.Flow. All ends of a channel have the same one.
const (
	FlowNack    uint32 = 0 // a sender is refused where there is no room (flowctl.AckNack)
	FlowCredits uint32 = 1 // a sender sends what there is room for (flowctl.Credits)
)

// Values of Status.State.
const (
	StateOpen   uint32 = 0 // messages are welcome
	StateClosed uint32 = 1 // the owner closed the channel
	StateGone   uint32 = 2 // the owner died
)

// Status is what senders look at: one line that hardly ever changes.
type Status struct {
	State    uint32 // StateOpen, ...
	Sleeping uint32 // futex: 1 while the owner sleeps; a sender sets 0 and wakes it
	Gone     uint32 // counts peers marked gone, so that the owner need not look at each
	Waits    uint32 // how the owner waits: WaitNone, ...; it may be awake for a moment to look
	Since    int64  // when it began to, by CLOCK_MONOTONIC: another wait has another instant
	Wanted   uint32 // senders that found no free lane since one was last offered
	Offers   uint32 // counts lanes that became free: a sender that found none tries again when it moves
	Recalls  uint32 // counts lanes, in other images, that this rank writes and is asked to give back
	_        [28]byte
}

// Values of Status.Waits.
const (
	WaitNone    uint32 = 0 // the owner does not wait
	WaitMessage uint32 = 1 // until a message comes, or a peer dies
	WaitSpace   uint32 = 2 // the same, or until there is space in another inbox
	WaitTimed   uint32 = 3 // until a time is over at the latest
)

// Roles that may drive a context's protocol.
const (
	RoleProcess uint32 = 1 // the rank's own process
	RoleAgent   uint32 = 2 // the node's agent
)

// Lock is the driver lock.
type Lock struct {
	Holder  uint64 // 0 when free, else role in the upper half, thread id in the lower
	Revoked uint32 // 1: the process may not take the lock
	Wanted  uint32 // futex: 1 while the agent waits for the lock
	Last    uint32 // role of the last driver; another one does not trust what it remembers
	Drives  uint32 // counts the sections of the process: it polls while this moves
	Due     int64  // when the protocol wants to be driven next, by CLOCK_MONOTONIC
	Away    uint32 // 1: not resident; nothing is sent, and whatever comes is refused
	Peer    uint32 // the agent is accepting a frame of this rank - 1; 0: it is not
	Seq     uint32 // number of that frame
	Got     uint32 // Arrival.Got of the rank before
	Tail    uint64 // tail of lane 0 before
	Extra   uint32 // places of lane 0 reserved for ranks of other nodes, less the first credits of all; modulo 2^32
	Located uint32 // counts the answers about where peers are, whichever driver took them
}

// Owner identifies the process in a role, exactly enough to find out whether it still lives.
type Owner struct {
	Pid   uint32 // 0: nobody yet; with the highest bit: being written
	_     uint32
	Start uint64 // start of the process in clock ticks after boot, from /proc/PID/stat
	Space uint64 // inode of its pid namespace: a pid means nothing in another one
	_     [40]byte
}

// WaiterWords bounds the ranks of one node: one bit each in Waiters.
const WaiterWords = 15

// MaxLocal is how many ranks of a job one node can hold: 960, well above the CPUs of any node.
const MaxLocal = WaiterWords * 64

// Waiters says which senders sleep until there is space.
type Waiters struct {
	Any  uint64              // not zero if a bit below may be set
	Bits [WaiterWords]uint64 // by index in the local table
}

// Lane is the control of a ring with one writer. Reader and writer have a
// line each. A new writer begins at Head, where the commit word is zero.
type Lane struct {
	Head   uint64 // lines given back by the reader, ever
	Recall uint32 // 1: the reader asks the writer to give the lane back
	_      [52]byte
	Owner  uint64 // 0: free; LaneWithheld; else rank + 1 of the writer
	Tail   uint64 // lane 0: lines written, ever; kept for the next driver
	_      [48]byte
}

// LaneWithheld in Lane.Owner: nobody may claim the lane. The maker withholds all lanes; the reader
// offers as many as it allows memory for, by setting Owner to 0.
const LaneWithheld = ^uint64(0)

// Shared is the control of the ring with many writers. Tail holds, in its
// upper 40 bits, the lines reserved (modulo 2^40), in its lower 24 bits 0 or
// rank + 1 of the writer that is reserving.
type Shared struct {
	Head uint64
	_    [56]byte
	Tail uint64
	_    [56]byte
}

// Peer is what a rank on another node costs.
type Peer struct {
	Flow  [120]byte // state of flow control, both directions
	First uint32    // oldest message kept for the peer: index of its granule + 1
	Last  uint32    // youngest
}

// Arrival says where in the network lane a message of several frames is being put
// together; a rank whose messages are one frame each never touches its entry.
type Arrival struct {
	Position uint32 // lines written before it, modulo 2^32
	Got      uint32 // 0: none; else 1 + its bytes so far
}

// ArrivalBytes is the size of Arrival.
const ArrivalBytes = 8

// LocalPeer lies in place of Peer for a rank on the same node.
type LocalPeer struct {
	Pid   uint32 // who writes here as this rank; 0 before it does
	Gone  uint32 // 1: the rank died
	Start uint64 // as in Owner
	Space uint64
	_     [104]byte
}

// Kinds of records in a ring.
const (
	KindData     uint8 = 1 // a whole message
	KindGrowing  uint8 = 2 // a message whose tail is still being written; see Record.Progress
	KindPad      uint8 = 3 // nothing up to the end of the ring
	KindLane     uint8 = 4 // the writer goes on in the lane named by Progress
	KindReserved uint8 = 5 // shared ring: space of a message to come
	KindLaneEnd  uint8 = 6 // the writer leaves the lane named by Progress; its tail follows, in LaneEndBytes
)

// Record is the head of a message in a ring. It starts a line, and the bytes of
// the message follow it, so a message of up to 48 bytes is one line.
type Record struct {
	Commit   uint64 // written last: bits 0-23 length, 24-31 kind, 32-63 sender's rank; 0: nothing here yet
	Progress uint32 // KindGrowing: bytes that are there, or ProgressLost
	Mark     uint32 // 1: given back by the reader before older ones were
}

// LaneEndBytes is the length of what a record of KindLaneEnd carries: the lines that its writer
// wrote into the lane, ever. The reader takes these before it reads on behind the record.
const LaneEndBytes = 8

// ProgressLost means that the rest of a growing message will not come.
const ProgressLost = ^uint32(0)

// RecordBytes is the size of Record.
const RecordBytes = 16

// MaxLength is what the length field of a record can say.
const MaxLength = 1<<24 - 1

// Commit makes the word of a record.
func Commit(length int, kind uint8, rank uint32) uint64 {
	return uint64(length)&MaxLength | uint64(kind)<<24 | uint64(rank)<<32
}

// Uncommit takes the word of a record apart.
func Uncommit(word uint64) (length int, kind uint8, rank uint32) {
	return int(word & MaxLength), uint8(word >> 24), uint32(word >> 32)
}

// Lines returns how many lines a message of the length takes.
func Lines(length int) uint64 {
	return (uint64(length) + RecordBytes + LineBytes - 1) / LineBytes
}

// Kept is the head of a message in the send buffer; its bytes follow.
type Kept struct {
	Next   uint32 // next message for the same peer: index of its granule + 1
	Length uint32 // bytes
	Peer   uint32 // rank
	First  uint32 // sequence number of its first frame
	Frames uint32 // how many frames it is
	_      uint32
}

// KeptBytes is the size of Kept.
const KeptBytes = 24
