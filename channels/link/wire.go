package link

import (
	"errors"
	"hash/crc32"
	"score/flowctl"
)

// Kind is what a datagram is.
type Kind uint8

// The kinds. Their numbers are on the wire.
const (
	// Data carries frames, and an answer for the other direction.
	Data Kind = 1 + iota
	// Ask has the header of a frame but no payload: it wants an answer. It carries one, too.
	Ask
	// Answer carries an answer alone.
	Answer
	// Where asks a node's directory for the port of the context To.
	Where
	// Here is what the directory answers: Status and Port.
	Here
	// End means that the context From has ended, and how: Status.
	End
)

// What the Status of Here says about the context that was asked for.
const (
	StatusHere   uint8 = 1 + iota // it is at Port
	StatusNotYet                  // it is not there yet: ask again
	StatusEnded                   // it was there, and has ended
)

// StatusSendOnly is the Status of Data, Ask and Answer that come from a socket which only sends:
// the context From receives at another port of the same host. Else it is 0.
const StatusSendOnly uint8 = 1

// What the Status of End says.
const (
	EndClosed uint8 = 1 + iota // its owner closed it
	EndDied                    // its owner died
	EndFlow                    // it has another flow control than the context that sent to it
)

// The values of Head.Flow, the same as in images.
const (
	FlowNack    uint8 = iota // ACK/NACK
	FlowCredits              // dynamic credits
)

// Head is the header of a datagram. What its kind does not use is zero.
type Head struct {
	Kind     Kind
	Job      uint64 // key of the job
	Channel  uint32
	From, To uint32 // ranks
	// Data is, in Data, the header of the first frame with the Mark of the last; in Ask the ask's.
	Data   flowctl.Data
	Frames uint16         // in Data: frame i has Seq+i and Tx+i, and only the last has the Mark
	Answer flowctl.Answer // of the other direction; in Data, Ask and Answer
	Flow   uint8          // in Data, Ask, Answer and Where: what the context From uses
	// Guarded is of Data. To a Writer it says that the transport guards the bytes ([Guarded]) and
	// that the path takes the datagram in one piece; from Parse, that the CRC leaves out most of
	// the last frame.
	Guarded bool
	Status  uint8  // in Here and End; in Data, Ask and Answer: StatusSendOnly or 0
	Port    uint16 // in Here, with StatusHere: UDP port of the context
}

// Sizes of the parts of a datagram.
const (
	HeadBytes  = 52 // so that with the first frame's header the first payload is at a multiple of 8
	FrameBytes = 4  // header of a frame
	TotalBytes = 4  // and the length of the message, where it is longer than its first frame
)

// MaxFrame is the most payload that a frame has in the longest datagram.
const MaxFrame = MaxDatagram - HeadBytes - FrameBytes - TotalBytes

// LongFrame is the least data of a frame that the CRC of a guarded datagram leaves out, and that is
// worth to be sent from where it lies. A CRC over less takes a 20th of what the datagram costs, and
// what an Ethernet with an MTU of 1,500 carries is shorter.
const LongFrame = 4 << 10

// upperHeads is how much of a long frame's data the CRC of a guarded datagram covers all the same:
// the headers of the layers above, for which a channel's messages have so much room, say where the
// rest goes.
const upperHeads = 256

// ErrFrame means that a datagram is not one of this protocol, or was changed on its way.
var ErrFrame = errors.New("link: not a datagram of this protocol")

// The header: offsets of its fields, all little endian.
const (
	crcAt        = 0 // CRC-32C of all that follows it; of a guarded datagram, of its beginning
	magicAt      = 4
	versionAt    = 5
	kindAt       = 6
	markAt       = 7
	jobAt        = 8
	channelAt    = 16
	fromAt       = 20
	toAt         = 24
	framesAt     = 28
	statusAt     = 30 // the Status of Here and End; of the others the Flow, above it the Status, then guardedBit
	answerKindAt = 31
	seqAt        = 32
	txAt         = 36
	nextAt       = 40
	echoAt       = 44
	roomAt       = 48
	contextAt    = 50 // the Port of Here; of all others, which are not of one length, that
)

const (
	magic   = 'S'
	version = 3
	// flowBits is the number of bits of the Flow in the byte that it shares with a Status.
	flowBits = 4
	flowMask = 1<<flowBits - 1
	// guardedBit is set in guarded Data.
	guardedBit = 1 << 7
)

// Offsets in a frame, and its flags.
const (
	sizeAt      = 0
	flagsAt     = 2
	reservedAt  = 3
	totalAt     = 4
	flagStart   = 1 << 0 // first frame of its message
	flagLong    = 1 << 1 // Total follows, since the message is longer than this frame
	marksKnown  = flowctl.MarkAsk | flowctl.MarkWant
	lastAnswer  = flowctl.Ready
	framesLimit = 1<<16 - 1
)

// castagnoli is the polynomial for which processors have an instruction. To make its tables takes
// 0.2 ms, which a rank that sends no frame does not spend.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }
