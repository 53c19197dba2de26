package tipc

import (
	"encoding/binary"
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// The name of TIPC in the kernel's generic netlink (linux/tipc_netlink.h).
const (
	family        = "TIPCv2\x00"
	familyVersion = 1
)

const (
	// netlinkBytes is room for one answer: the kernel sends no more at a time.
	netlinkBytes = 32 << 10
	// netlinkWait bounds the wait for the kernel, which answers at once.
	netlinkWait = 1
	// maxAnswers bounds how many answers a list has: many more bearers than a node can have.
	maxAnswers = 64
	// genericBytes is the length of struct genlmsghdr.
	genericBytes = 4
	// attributeBytes is the length of struct nlattr, and what attributes are padded to.
	attributeBytes = 4
)

var errNetlink = errors.New("tipc: not an answer of the kernel's netlink")

// list asks TIPC for a list, and calls f with the attributes of each of its answers.
func list(command byte, f func(attributes []byte) error) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_GENERIC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: netlinkWait}); err != nil {
		return err
	}
	number, err := familyNumber(fd)
	if err != nil {
		return err
	}
	return ask(fd, request(number, unix.NLM_F_DUMP, command, familyVersion, nil), f)
}

// familyNumber asks for the number that this kernel has given to TIPC.
func familyNumber(fd int) (number uint16, err error) {
	err = ask(fd, request(unix.GENL_ID_CTRL, 0, unix.CTRL_CMD_GETFAMILY, 1, attribute(unix.CTRL_ATTR_FAMILY_NAME, []byte(family))), func(b []byte) error {
		id, ok := find(b, unix.CTRL_ATTR_FAMILY_ID)
		if ok && len(id) == 2 {
			number = binary.NativeEndian.Uint16(id)
		}
		return nil
	})
	switch {
	case errors.Is(err, unix.ENOENT):
		return 0, ErrKernel
	case err == nil && number == 0:
		return 0, errNetlink
	}
	return number, err
}

// request is a message to a generic netlink family.
func request(family uint16, flags int, command, version byte, attributes []byte) []byte {
	b := make([]byte, unix.SizeofNlMsghdr, unix.SizeofNlMsghdr+genericBytes+len(attributes))
	binary.NativeEndian.PutUint16(b[4:], family)
	binary.NativeEndian.PutUint16(b[6:], uint16(unix.NLM_F_REQUEST|flags))
	b = append(b, command, version, 0, 0)
	b = append(b, attributes...)
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	return b
}

func attribute(kind uint16, value []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(attributeBytes+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, value...)
	for len(b)%attributeBytes != 0 {
		b = append(b, 0)
	}
	return b
}

// find returns the value of an attribute among others.
func find(b []byte, kind uint16) (value []byte, ok bool) {
	for len(b) >= attributeBytes {
		n := int(binary.NativeEndian.Uint16(b))
		if n < attributeBytes || n > len(b) {
			return nil, false
		}
		if binary.NativeEndian.Uint16(b[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER) == kind {
			return b[attributeBytes:n], true
		}
		b = b[min((n+attributeBytes-1)&^(attributeBytes-1), len(b)):]
	}
	return nil, false
}

// ask sends a request and calls f with the attributes of each answer.
func ask(fd int, message []byte, f func(attributes []byte) error) error {
	if err := unix.Sendto(fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	b := make([]byte, netlinkBytes)
	for range maxAnswers {
		n, _, err := unix.Recvfrom(fd, b, 0)
		if err != nil {
			return err
		}
		done, err := answers(b[:n], f)
		if done || err != nil {
			return err
		}
	}
	return errNetlink
}

// answers calls f with each answer in b, and reports whether it was the last.
func answers(b []byte, f func(attributes []byte) error) (done bool, err error) {
	messages, err := syscall.ParseNetlinkMessage(b)
	if err != nil {
		return false, errNetlink
	}
	for i := range messages {
		m := &messages[i]
		switch m.Header.Type {
		case unix.NLMSG_DONE:
			return true, nil
		case unix.NLMSG_ERROR:
			if len(m.Data) < 4 {
				return false, errNetlink
			}
			if number := -int32(binary.NativeEndian.Uint32(m.Data)); number != 0 {
				return false, unix.Errno(number)
			}
			return true, nil
		}
		if len(m.Data) < genericBytes {
			return false, errNetlink
		}
		if err := f(m.Data[genericBytes:]); err != nil {
			return false, err
		}
		if m.Header.Flags&unix.NLM_F_MULTI == 0 {
			return true, nil
		}
	}
	return false, nil
}
