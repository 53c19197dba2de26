package link

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// BulkHead is the header of a bulk datagram: bytes of a long transfer that their reader asked for.
// Bulk datagrams go between sockets of their own, may be lost, and are asked for again by who
// misses them.
type BulkHead struct {
	Job      uint64 // key of the job
	Channel  uint32
	From, To uint32 // ranks
	Call     uint32 // the reader's number of the transfer
	Token    uint32 // tells transfers apart that had the same number
	Size     uint32 // bytes that follow the header
	At       uint64 // where in the transfer they belong
	Sum      uint32 // CRC-32C of the bytes, if Summed
	Summed   bool
}

const (
	// BulkBytes is the length of the header: a cache line.
	BulkBytes = 64
	// MaxBulk is the most payload of a bulk datagram.
	MaxBulk = MaxDatagram - BulkBytes
)

// Offsets of the header's fields, all little endian. Byte 7 and the last ones are 0.
const (
	bulkMagic   = 'B'
	bulkVersion = 1

	bulkFlagsAt = 6
	bulkCallAt  = 28
	bulkTokenAt = 32
	bulkSizeAt  = 36
	bulkPlaceAt = 40
	bulkSumAt   = 48
	bulkEnd     = 52

	bulkSummed = 1
)

// Put writes the header.
func (h *BulkHead) Put(b *[BulkBytes]byte) {
	clear(b[:])
	b[magicAt], b[versionAt] = bulkMagic, bulkVersion
	binary.LittleEndian.PutUint64(b[jobAt:], h.Job)
	binary.LittleEndian.PutUint32(b[channelAt:], h.Channel)
	binary.LittleEndian.PutUint32(b[fromAt:], h.From)
	binary.LittleEndian.PutUint32(b[toAt:], h.To)
	binary.LittleEndian.PutUint32(b[bulkCallAt:], h.Call)
	binary.LittleEndian.PutUint32(b[bulkTokenAt:], h.Token)
	binary.LittleEndian.PutUint32(b[bulkSizeAt:], h.Size)
	binary.LittleEndian.PutUint64(b[bulkPlaceAt:], h.At)
	if h.Summed {
		b[bulkFlagsAt] = bulkSummed
		binary.LittleEndian.PutUint32(b[bulkSumAt:], h.Sum)
	}
	binary.LittleEndian.PutUint32(b[crcAt:], crc32.Checksum(b[magicAt:], castagnoli()))
}

// ParseBulk reads a header. Any fault is ErrFrame. Whether Size bytes follow is for the caller to
// check.
func ParseBulk(data []byte) (h BulkHead, err error) {
	if len(data) < BulkBytes {
		return h, ErrFrame
	}
	b := (*[BulkBytes]byte)(data)
	if b[magicAt] != bulkMagic || b[versionAt] != bulkVersion || b[bulkFlagsAt] > bulkSummed || b[markAt] != 0 ||
		[BulkBytes - bulkEnd]byte(b[bulkEnd:]) != [BulkBytes - bulkEnd]byte{} ||
		binary.LittleEndian.Uint32(b[crcAt:]) != crc32.Checksum(b[magicAt:], castagnoli()) {
		return h, ErrFrame
	}
	h = BulkHead{
		Job: binary.LittleEndian.Uint64(b[jobAt:]), Channel: binary.LittleEndian.Uint32(b[channelAt:]),
		From: binary.LittleEndian.Uint32(b[fromAt:]), To: binary.LittleEndian.Uint32(b[toAt:]),
		Call: binary.LittleEndian.Uint32(b[bulkCallAt:]), Token: binary.LittleEndian.Uint32(b[bulkTokenAt:]),
		Size: binary.LittleEndian.Uint32(b[bulkSizeAt:]), At: binary.LittleEndian.Uint64(b[bulkPlaceAt:]),
		Sum: binary.LittleEndian.Uint32(b[bulkSumAt:]), Summed: b[bulkFlagsAt] == bulkSummed,
	}
	if h.Size == 0 || h.Size > MaxBulk || !h.Summed && h.Sum != 0 {
		return BulkHead{}, ErrFrame
	}
	return h, nil
}

// BulkSum is the checksum of a bulk datagram's bytes.
func BulkSum(data []byte) uint32 { return crc32.Checksum(data, castagnoli()) }

// Errors of a Bulk.
var (
	// ErrBusy means that the system accepts nothing now.
	ErrBusy = errors.New("link: the system takes no datagram now")
	// ErrMemory means that bytes to be sent, or their place, are not in memory that the process
	// has.
	ErrMemory = errors.New("link: memory that is not there")
	// ErrNarrow means that the path takes only datagrams of up to Size bytes.
	ErrNarrow = errors.New("link: the path is narrower")
)

// Bulk is a socket for bulk datagrams: the kernel copies their bytes from and to the memory of the
// program. One goroutine of its process uses it.
type Bulk interface {
	// Size is the longest datagram that goes to the address in one piece.
	Size(to Address) int
	// Send sends a header and bytes. If they are lasting they may be read until the datagram has
	// arrived: they must stay as they are for as long as its reader wants them. The error is
	// ErrBusy, ErrMemory or ErrNarrow; any other datagram that the system refuses counts as lost on
	// the wire.
	Send(to Address, head *[BulkBytes]byte, data []byte, lasting bool) error
	// Fit returns how many of the bytes, which are lasting, one datagram should carry.
	Fit(to Address, data []byte) int
	// Ahead names the bytes of the next datagrams, in order, each as long as Fit says: to prepare
	// many at once takes less time. Whoever sends no more of them then calls it without bytes.
	Ahead(to Address, data []byte)
	// Peek looks at the next datagram; head is its beginning, valid until the next call.
	Peek() (from Address, head []byte, ok bool)
	// Take receives the next datagram, puts the bytes behind the header into place, and returns
	// their number, which exceeds place if the datagram was longer. With an empty place it drops
	// the datagram. With an error, ErrMemory, the datagram is lost.
	Take(place []byte) (n int, err error)
	// Summed reports whether datagrams may be damaged above the checksum of UDP, so that they need
	// one of their own.
	Summed() bool
	// Port is the socket's UDP port.
	Port() uint16
	// Room returns how many bytes of datagrams the socket holds until they are taken.
	Room() int
	// Waiting returns how many of them it holds, about.
	Waiting() int
	// Descriptor is the socket, to wait on. It belongs to the Bulk.
	Descriptor() int
	// Close closes the socket.
	Close() error
}
