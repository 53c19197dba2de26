package sockowner

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ErrUnknown means that the kernel does not know the connection's other end: it is on another host,
// in another network namespace, or closed.
var ErrUnknown = errors.New("the other end of the connection is not known")

// Owner is the owner of a socket.
type Owner struct {
	UID   uint32
	Inode uint64
	// Group is the number of the v2 control group in which the socket was made (cgroup.Group.ID);
	// 0: the kernel does not tell.
	Group uint64
}

// Layout of sock_diag(7) messages: struct inet_diag_req_v2 and inet_diag_msg, behind which
// attributes follow.
const (
	headerLen     = 16
	requestLen    = 56
	replyLen      = 72
	byFamily      = 20 // SOCK_DIAG_BY_FAMILY
	replyUID      = 64
	replyInode    = 68
	noCookie      = 0xffffffff
	anyState      = 0xffffffff
	attributeLen  = 4  // of an attribute's header: length, type
	attributeStep = 4  // attributes begin at multiples of it
	groupID       = 21 // INET_DIAG_CGROUP_ID
	groupIDLen    = 8
	// answerSpace is room for the longest answer about one socket, some 300 bytes, in bytes.
	answerSpace = 4096
)

// Resolver asks the kernel. It is for one goroutine at a time.
type Resolver struct {
	fd      int
	number  uint32 // of the last request
	request [headerLen + requestLen]byte
	reply   [answerSpace]byte
}

// NewResolver opens a socket to the kernel; Close closes it.
func NewResolver() (*Resolver, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return &Resolver{fd: fd}, nil
}

// Close closes the Resolver.
func (r *Resolver) Close() { _ = unix.Close(r.fd) }

// Owner returns the owner of the socket whose own address is from, of a TCP connection with to. The
// error wraps ErrUnknown.
func (r *Resolver) Owner(from, to *unix.SockaddrInet4) (Owner, error) {
	r.number++
	r.query(from, to)
	if err := unix.Sendto(r.fd, r.request[:], 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return Owner{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	for {
		// The kernel has answered when the call to send returns.
		n, _, err := unix.Recvfrom(r.fd, r.reply[:], unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return Owner{}, fmt.Errorf("%w: %w", ErrUnknown, err)
		case n >= headerLen && binary.NativeEndian.Uint32(r.reply[8:]) == r.number:
			return read(r.reply[:n])
		}
	}
}

// query writes the request for the socket whose own address is from.
func (r *Resolver) query(from, to *unix.SockaddrInet4) {
	m := r.request[:]
	clear(m)
	binary.NativeEndian.PutUint32(m, uint32(len(m)))
	binary.NativeEndian.PutUint16(m[4:], byFamily)
	binary.NativeEndian.PutUint16(m[6:], unix.NLM_F_REQUEST)
	binary.NativeEndian.PutUint32(m[8:], r.number)
	body := m[headerLen:]
	body[0], body[1] = unix.AF_INET, unix.IPPROTO_TCP
	binary.NativeEndian.PutUint32(body[4:], anyState)
	binary.BigEndian.PutUint16(body[8:], uint16(from.Port))
	binary.BigEndian.PutUint16(body[10:], uint16(to.Port))
	copy(body[12:], from.Addr[:])
	copy(body[28:], to.Addr[:])
	binary.NativeEndian.PutUint32(body[48:], noCookie)
	binary.NativeEndian.PutUint32(body[52:], noCookie)
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
	owner.Group = group(m[replyLen:])
	return owner, nil
}

// group returns the control group in the attributes, 0 if it is not there.
func group(attributes []byte) uint64 {
	for len(attributes) >= attributeLen {
		n := int(binary.NativeEndian.Uint16(attributes))
		kind := binary.NativeEndian.Uint16(attributes[2:])
		if n < attributeLen || n > len(attributes) {
			return 0
		}
		if kind == groupID && n == attributeLen+groupIDLen {
			return binary.NativeEndian.Uint64(attributes[attributeLen:])
		}
		step := (n + attributeStep - 1) / attributeStep * attributeStep
		attributes = attributes[min(step, len(attributes)):]
	}
	return 0
}
