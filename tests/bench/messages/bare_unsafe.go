package messages

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// bareSocket sends and receives by the raw system calls, polling.
type bareSocket struct {
	fd   uintptr
	to   unix.RawSockaddrInet4
	from unix.RawSockaddrInet4
	data [bareSize]byte
}

func newBareSocket(fd, port int) *bareSocket {
	s := &bareSocket{fd: uintptr(fd)}
	s.to.Family, s.to.Addr = unix.AF_INET, [4]byte{127, 0, 0, 1}
	p := (*[2]byte)(unsafe.Pointer(&s.to.Port))
	p[0], p[1] = byte(port>>8), byte(port)
	return s
}

func (s *bareSocket) send() {
	_, _, _ = unix.RawSyscall6(unix.SYS_SENDTO, s.fd, uintptr(unsafe.Pointer(&s.data)), bareSize, unix.MSG_DONTWAIT,
		uintptr(unsafe.Pointer(&s.to)), unix.SizeofSockaddrInet4)
}

// receive polls until a datagram is there. The loopback device loses none as long as one is under
// way.
func (s *bareSocket) receive() {
	for {
		size := uint32(unix.SizeofSockaddrInet4)
		_, _, err := unix.RawSyscall6(unix.SYS_RECVFROM, s.fd, uintptr(unsafe.Pointer(&s.data)), bareSize, unix.MSG_DONTWAIT,
			uintptr(unsafe.Pointer(&s.from)), uintptr(unsafe.Pointer(&size)))
		if err == 0 {
			return
		}
	}
}

// remoteWord is the first word of memory that begins at a multiple of 8.
func remoteWord(b []byte) *uint64 { return (*uint64)(unsafe.Pointer(&b[0])) }
