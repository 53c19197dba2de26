package channels

import (
	"score/channels/abi"
	"score/channels/release"
	"score/flowctl"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// All casts of the package are in this file. Two kinds of memory come in: the
// whole image, whose offsets come from a layout that was checked against
// its size, and rings in it, whose positions are masked. So no word read from
// the image can lead outside of it.

// memory is an image as mapped.
type memory []byte

// u64 is a word of the image. The offset must come from the checked layout.
func (m memory) u64(at uint64) *uint64 {
	word := m[at : at+8]
	return (*uint64)(unsafe.Pointer(&word[0]))
}

func (m memory) u32(at uint64) *uint32 {
	word := m[at : at+4]
	return (*uint32)(unsafe.Pointer(&word[0]))
}

// header copies the header once.
func (m memory) header() (h abi.Header) {
	if len(m) < abi.PageBytes {
		return abi.Header{}
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&h)), abi.HeaderBytes), m)
	return h
}

// setHeader writes the header: only a maker does.
func (m memory) setHeader(h abi.Header) {
	copy(m, unsafe.Slice((*byte)(unsafe.Pointer(&h)), abi.HeaderBytes))
}

// flow is the state of flow control in a peer's entry. Any bytes are a state of
// these machines: they have no pointer, index or loop.
func (m memory) flow(entry uint64) (*flowctl.Sender, *flowctl.Receiver) {
	part := m[entry : entry+abi.PeerBytes]
	return (*flowctl.Sender)(unsafe.Pointer(&part[0])), (*flowctl.Receiver)(unsafe.Pointer(&part[senderBytes]))
}

const (
	senderBytes   = unsafe.Sizeof(flowctl.Sender{})
	receiverBytes = unsafe.Sizeof(flowctl.Receiver{})
)

// Both fit before the list of kept messages, exactly.
var _ [abi.PeerFirstAt - uint64(senderBytes+receiverBytes)]struct{} = [0]struct{}{}

// ring is a power of two of lines.
type ring struct {
	base unsafe.Pointer
	mask uint64 // lines - 1
}

// ring makes a ring of size bytes, a power of two, at the offset of the layout.
func (m memory) ring(at uint64, size uint32) ring {
	part := m[at : at+uint64(size)]
	return ring{base: unsafe.Pointer(&part[0]), mask: uint64(size)/abi.LineBytes - 1}
}

// lines is the ring's size.
func (r ring) lines() uint64 { return r.mask + 1 }

// commit is the first word of the line at the position.
func (r ring) commit(pos uint64) *uint64 {
	return (*uint64)(unsafe.Add(r.base, (pos&r.mask)*abi.LineBytes))
}

const (
	progressAt = uint64(unsafe.Offsetof(abi.Record{}.Progress)) // in one word with Mark
	markAt     = uint64(unsafe.Offsetof(abi.Record{}.Mark))
)

// progress is the Progress word of the record at the position.
func (r ring) progress(pos uint64) *uint32 {
	return (*uint32)(unsafe.Add(r.base, (pos&r.mask)*abi.LineBytes+progressAt))
}

// mark is the Mark word of the record at the position.
func (r ring) mark(pos uint64) *uint32 {
	return (*uint32)(unsafe.Add(r.base, (pos&r.mask)*abi.LineBytes+markAt))
}

// clear makes the record at the position a fresh one, all but its first word.
func (r ring) clear(pos uint64, progress uint32) {
	*(*uint64)(unsafe.Add(r.base, (pos&r.mask)*abi.LineBytes+progressAt)) = uint64(progress)
}

// left returns how many lines there are from the position to the end of the memory.
func (r ring) left(pos uint64) uint64 { return r.lines() - pos&r.mask }

// bytes returns the message at the position; it must fit before the end of the memory.
func (r ring) bytes(pos uint64, length int) []byte {
	if uint(length) > uint(r.left(pos)*abi.LineBytes-abi.RecordBytes) {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Add(r.base, (pos&r.mask)*abi.LineBytes+abi.RecordBytes)), length)
}

// putLine writes a fresh record that is one line, all but its first word. The head and the data
// must fit into it.
func (r ring) putLine(pos uint64, h Head, data []byte) {
	line := unsafe.Add(r.base, (pos&r.mask)*abi.LineBytes)
	*(*uint64)(unsafe.Add(line, progressAt)) = 0
	*(*[3]uint64)(unsafe.Add(line, abi.RecordBytes)) = [3]uint64{h.First, h.Second, h.Third} // what the data needs it takes
	to := unsafe.Add(line, abi.RecordBytes+h.bytes())
	if len(data) == 8 { // the commonest, without the call that copying a slice costs
		*(*uint64)(to) = *(*uint64)(unsafe.Pointer(&data[0]))
		return
	}
	copy(unsafe.Slice((*byte)(to), lineBytes-h.bytes()), data)
}

// futex is the system call.
func futex(word *uint32, op, value uint32, timeout time.Duration) {
	ts := unix.NsecToTimespec(timeout.Nanoseconds())
	p := unsafe.Pointer(&ts)
	if op == futexWake {
		p = nil
	}
	// Waiters look again in any case.
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), uintptr(op), uintptr(value), uintptr(p), 0, 0)
}

// setProgress stores the Progress word and a Mark of zero at once: the reader
// does not mark a message before it is complete.
func (r ring) setProgress(pos uint64, progress uint32) {
	release.Store64((*uint64)(unsafe.Add(r.base, (pos&r.mask)*abi.LineBytes+progressAt)), uint64(progress))
}
