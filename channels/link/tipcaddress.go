package link

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// sockaddr_tipc: its length, and the places of its parts. The kind of address decides what the last
// three numbers are: of a name its type, lowest and highest instance; of a socket its reference and
// its node.
const (
	tipcBytes  = unix.SizeofSockaddrTIPC
	tipcKindAt = 2
	tipcScope  = 3
	tipcFirst  = 4
	tipcSecond = 8
	tipcThird  = 12
)

// NameAddress is the TIPC address of all sockets that are bound to a name, whose they may be. It is
// a range of one name, since what is sent to a range goes to each of them; of sockets with a plain
// name, the kernel chooses one.
func NameAddress(kind, instance uint32) (a Address) {
	a.tipc(unix.TIPC_SERVICE_RANGE)
	a.raw[tipcScope] = unix.TIPC_CLUSTER_SCOPE
	binary.NativeEndian.PutUint32(a.raw[tipcFirst:], kind)
	binary.NativeEndian.PutUint32(a.raw[tipcSecond:], instance)
	binary.NativeEndian.PutUint32(a.raw[tipcThird:], instance)
	return a
}

// SocketAddress is the address of one TIPC socket: its node and its reference there.
func SocketAddress(node, reference uint32) (a Address) {
	a.tipc(unix.TIPC_SOCKET_ADDR)
	binary.NativeEndian.PutUint32(a.raw[tipcFirst:], reference)
	binary.NativeEndian.PutUint32(a.raw[tipcSecond:], node)
	return a
}

func (a *Address) tipc(kind byte) {
	a.len = tipcBytes
	binary.NativeEndian.PutUint16(a.raw[:], unix.AF_TIPC)
	a.raw[tipcKindAt] = kind
}

// fromTIPC is FromRaw for the kernel's word on where a message comes from.
func fromTIPC(raw []byte) Address {
	if len(raw) != tipcBytes || binary.NativeEndian.Uint16(raw) != unix.AF_TIPC || raw[tipcKindAt] != unix.TIPC_SOCKET_ADDR {
		return Address{}
	}
	return SocketAddress(binary.NativeEndian.Uint32(raw[tipcSecond:]), binary.NativeEndian.Uint32(raw[tipcFirst:]))
}

// IsTIPC reports whether this is a name or a socket of TIPC.
func (a Address) IsTIPC() bool {
	return a.len == tipcBytes && binary.NativeEndian.Uint16(a.raw[:]) == unix.AF_TIPC
}

// Name returns the type and the instance of a TIPC name; ok is false if this is none.
func (a Address) Name() (kind, instance uint32, ok bool) {
	if !a.IsTIPC() || a.raw[tipcKindAt] != unix.TIPC_SERVICE_RANGE {
		return 0, 0, false
	}
	return binary.NativeEndian.Uint32(a.raw[tipcFirst:]), binary.NativeEndian.Uint32(a.raw[tipcSecond:]), true
}

// Socket returns the node and the reference of a TIPC socket; ok is false if this is none.
func (a Address) Socket() (node, reference uint32, ok bool) {
	if !a.IsTIPC() || a.raw[tipcKindAt] != unix.TIPC_SOCKET_ADDR {
		return 0, 0, false
	}
	return binary.NativeEndian.Uint32(a.raw[tipcSecond:]), binary.NativeEndian.Uint32(a.raw[tipcFirst:]), true
}

// tipcHost is Host of a TIPC address.
func (a Address) tipcHost() Address {
	if node, _, ok := a.Socket(); ok {
		return SocketAddress(node, 0)
	}
	return a
}

func (a Address) tipcString() string {
	if node, reference, ok := a.Socket(); ok {
		return fmt.Sprintf("%08x/%d", node, reference)
	}
	kind, instance, _ := a.Name()
	return fmt.Sprintf("%d:%d", kind, instance)
}
