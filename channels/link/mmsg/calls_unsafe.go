package mmsg

import (
	"score/channels/link"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The callers hold all memory that the structures point to. RawSyscall, since none of the calls
// blocks: the scheduler need not know.

// Message is struct mmsghdr.
type Message struct {
	Header unix.Msghdr
	Length uint32
	_      uint32
}

// Send sends one datagram to a socket address; an empty one is the socket's peer.
func Send(fd int, data, to []byte) unix.Errno {
	_, _, err := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data)),
		unix.MSG_DONTWAIT, uintptr(unsafe.Pointer(unsafe.SliceData(to))), uintptr(len(to)))
	return err
}

// SendAll sends messages, at least one, and returns how many the kernel took.
func SendAll(fd int, messages []Message) (int, unix.Errno) {
	n, _, err := syscall.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&messages[0])), uintptr(len(messages)), unix.MSG_DONTWAIT, 0, 0)
	if err != 0 {
		return 0, err
	}
	return int(n), 0
}

// Receive receives one datagram into data and its sender's address into from, as ReceiveAll would
// into a message without control messages: recvfrom costs a quarter of a microsecond less than
// recvmsg. It reports whether one was there.
func Receive(fd int, m *Message, data, from []byte) bool {
	n, _, err := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data)),
		unix.MSG_DONTWAIT|unix.MSG_TRUNC, uintptr(unsafe.Pointer(unsafe.SliceData(from))), uintptr(unsafe.Pointer(&m.Header.Namelen)))
	if err != 0 {
		return false
	}
	m.Header.Flags = 0
	if int(n) > len(data) {
		n, m.Header.Flags = uintptr(len(data)), unix.MSG_TRUNC
	}
	m.Length = uint32(n)
	m.Header.SetControllen(0)
	return true
}

// ReceiveAll fills messages, at least one, and returns how many.
func ReceiveAll(fd int, messages []Message) int {
	n, _, err := syscall.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&messages[0])), uintptr(len(messages)), unix.MSG_DONTWAIT, 0, 0)
	if err != 0 {
		return 0
	}
	return int(n)
}

// LocalAddress is what a socket is bound to; none if package link has no such addresses.
func LocalAddress(fd int) (link.Address, error) {
	var raw [unix.SizeofSockaddrAny]byte
	size := uint32(len(raw))
	if _, _, err := unix.RawSyscall(unix.SYS_GETSOCKNAME, uintptr(fd), uintptr(unsafe.Pointer(&raw)), uintptr(unsafe.Pointer(&size))); err != 0 {
		return link.Address{}, err
	}
	return link.FromRaw(raw[:min(int(size), len(raw))]), nil
}

// Overflowed returns how many datagrams found the socket's queue full (Linux 4.12; else 0).
func Overflowed(fd int) uint64 { return memory(fd, unix.SK_MEMINFO_DROPS) }

// Waiting returns how many bytes wait in the socket's queue (Linux 4.12; else 0), with the kernel's
// own for them, and with those of some datagrams that were just received.
func Waiting(fd int) int { return int(memory(fd, unix.SK_MEMINFO_RMEM_ALLOC)) }

// memory returns one of the kernel's figures of a socket's memory.
func memory(fd, which int) uint64 {
	var info [unix.SK_MEMINFO_DROPS + 1]uint32
	size := uint32(unsafe.Sizeof(info))
	_, _, err := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if err != 0 {
		return 0
	}
	return uint64(info[which])
}
