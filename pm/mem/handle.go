package mem

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
)

// HandleBytes is the length of an encoded handle.
const HandleBytes = 32

// MaxWindow bounds the size of a window: more than a node has, and less than half of the address
// space of any 64-bit Linux.
const MaxWindow = 1 << 44

// handleMagic begins each encoded handle, so that other bytes are not mistaken for a handle. Its
// last digit is the version of the encoding.
const handleMagic = 0x5c0_3e31

// Handle holds what a peer needs to map a window. The kernel gives no two memfds since boot the
// same inode, so a handle never names another window than the one it was made for, even if the
// number of the descriptor is used again.
type Handle struct {
	FD     uint32 // descriptor in the owner's process
	Size   uint64 // bytes, whole pages
	Device uint64 // of the file, as in stat(2)
	Inode  uint64
}

// Encode returns the handle as bytes that ParseHandle reads on the same node.
func (h Handle) Encode() (b [HandleBytes]byte) {
	binary.LittleEndian.PutUint32(b[0:], handleMagic)
	binary.LittleEndian.PutUint32(b[4:], h.FD)
	binary.LittleEndian.PutUint64(b[8:], h.Size)
	binary.LittleEndian.PutUint64(b[16:], h.Device)
	binary.LittleEndian.PutUint64(b[24:], h.Inode)
	return b
}

// ParseHandle reads an encoded handle and checks what can be checked without the peer.
func ParseHandle(b []byte) (Handle, error) {
	if len(b) != HandleBytes {
		return Handle{}, fmt.Errorf("%w: %d bytes are no handle", ErrHandle, len(b))
	}
	if magic := binary.LittleEndian.Uint32(b); magic != handleMagic {
		return Handle{}, fmt.Errorf("%w: begins with %#x", ErrHandle, magic)
	}
	h := Handle{
		FD:     binary.LittleEndian.Uint32(b[4:]),
		Size:   binary.LittleEndian.Uint64(b[8:]),
		Device: binary.LittleEndian.Uint64(b[16:]),
		Inode:  binary.LittleEndian.Uint64(b[24:]),
	}
	return h, h.check()
}

// check refuses handles that no window has.
func (h Handle) check() error {
	if h.FD > math.MaxInt32 {
		return fmt.Errorf("%w: descriptor %d", ErrHandle, h.FD)
	}
	if h.Size == 0 || h.Size > MaxWindow || h.Size%uint64(os.Getpagesize()) != 0 {
		return fmt.Errorf("%w: %d bytes", ErrHandle, h.Size)
	}
	return nil
}
