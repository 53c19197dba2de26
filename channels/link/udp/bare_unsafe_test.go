package udp

import (
	"score/channels/link"
	"unsafe"

	"golang.org/x/sys/unix"
)

// bare is a socket with nothing around it: what a Port is measured against.
type bare struct {
	fd   int
	from [unix.SizeofSockaddrInet6]byte
}

func (b *bare) send(data []byte, to *link.Address) {
	raw := to.Raw()
	_, _, _ = unix.RawSyscall6(unix.SYS_SENDTO, uintptr(b.fd), uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)), unix.MSG_DONTWAIT,
		uintptr(unsafe.Pointer(&raw[0])), uintptr(len(raw)))
}

// receive returns 0 if there is nothing.
func (b *bare) receive(data []byte) int {
	size := uint32(len(b.from))
	n, _, err := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(b.fd), uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)), unix.MSG_DONTWAIT,
		uintptr(unsafe.Pointer(&b.from)), uintptr(unsafe.Pointer(&size)))
	if err != 0 {
		return 0
	}
	return int(n)
}
