package sockowner

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ErrUnknown is a connection whose other end the kernel does not know: it is not
// on this host, in another network namespace, or closed.
var ErrUnknown = errors.New("the other end of the connection is not known")

// Owner is whose socket it is.
type Owner struct {
	UID   uint32
	Inode uint64
}

// Layout of sock_diag(7) messages: struct inet_diag_req_v2 and inet_diag_msg.
const (
	headerLen  = 16
	requestLen = 56
	replyLen   = 72
	byFamily   = 20 // SOCK_DIAG_BY_FAMILY
	replyUID   = 64
	replyInode = 68
	noCookie   = 0xffffffff
	anyState   = 0xffffffff
)

// Of returns the owner of the other end of a connected TCP socket.
func Of(fd int) (Owner, error) {
	own, err := unix.Getsockname(fd)
	if err != nil {
		return Owner{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	peer, err := unix.Getpeername(fd)
	if err != nil {
		return Owner{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	from, isTCP4 := peer.(*unix.SockaddrInet4)
	to, isTCP4Too := own.(*unix.SockaddrInet4)
	if !isTCP4 || !isTCP4Too {
		return Owner{}, fmt.Errorf("%w: it is not TCP over IPv4", ErrUnknown)
	}
	return ask(request(from, to))
}

// request asks for the socket whose own address is from.
func request(from, to *unix.SockaddrInet4) []byte {
	m := make([]byte, headerLen+requestLen)
	binary.NativeEndian.PutUint32(m, uint32(len(m)))
	binary.NativeEndian.PutUint16(m[4:], byFamily)
	binary.NativeEndian.PutUint16(m[6:], unix.NLM_F_REQUEST)
	r := m[headerLen:]
	r[0], r[1] = unix.AF_INET, unix.IPPROTO_TCP
	binary.NativeEndian.PutUint32(r[4:], anyState)
	binary.BigEndian.PutUint16(r[8:], uint16(from.Port))
	binary.BigEndian.PutUint16(r[10:], uint16(to.Port))
	copy(r[12:], from.Addr[:])
	copy(r[28:], to.Addr[:])
	binary.NativeEndian.PutUint32(r[48:], noCookie)
	binary.NativeEndian.PutUint32(r[52:], noCookie)
	return m
}

func ask(request []byte) (Owner, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return Owner{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return Owner{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	// The kernel has answered when the call to send returns.
	reply := make([]byte, os.Getpagesize())
	n, _, err := unix.Recvfrom(fd, reply, unix.MSG_DONTWAIT)
	if err != nil {
		return Owner{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return read(reply[:n])
}

func read(reply []byte) (Owner, error) {
	if len(reply) < headerLen+replyLen || binary.NativeEndian.Uint16(reply[4:]) != byFamily {
		return Owner{}, ErrUnknown
	}
	m := reply[headerLen:]
	owner := Owner{UID: binary.NativeEndian.Uint32(m[replyUID:]), Inode: uint64(binary.NativeEndian.Uint32(m[replyInode:]))}
	if owner.Inode == 0 {
		return Owner{}, ErrUnknown // closed, nobody holds it
	}
	return owner, nil
}

// Holds reports whether a process has the socket with the inode open. A process
// whose descriptors may not be seen holds nothing.
func Holds(pid int, inode uint64) bool {
	dir, err := os.Open("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil {
		return false
	}
	defer dir.Close()
	want := "socket:[" + strconv.FormatUint(inode, 10) + "]"
	var link [64]byte
	for {
		const some = 64 // of the names, so that a process with very many takes no memory
		names, err := dir.Readdirnames(some)
		for _, name := range names {
			n, err := unix.Readlinkat(int(dir.Fd()), name, link[:])
			if err == nil && string(link[:n]) == want {
				return true
			}
		}
		if err != nil || len(names) == 0 {
			return false
		}
	}
}
