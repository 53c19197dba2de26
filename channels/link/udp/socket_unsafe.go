package udp

import (
	"score/channels/link"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls, and the structures they take. All memory that they point to is of a Port, which
// the callers hold. RawSyscall, since none of them blocks: the scheduler need not know.

// message is struct mmsghdr.
type message struct {
	header unix.Msghdr
	length uint32
	_      uint32
}

// control is one control message with a 16-bit number: the length of the segments.
type control struct {
	header unix.Cmsghdr
	size   uint16
	_      [6]byte
}

// controlLength is CMSG_LEN of it.
const controlLength = unix.SizeofCmsghdr + 2

// joined is the control message that says of what length the datagrams were that came as one.
type joined struct {
	header unix.Cmsghdr
	size   int32
	_      [4]byte
}

// joinedLength is CMSG_LEN of it.
const joinedLength = unix.SizeofCmsghdr + 4

// prepare makes a call of the datagrams from one index to the other.
func (p *Port) prepare(call, from, to int, conn bool) {
	o := &p.out
	for i := from; i < to; i++ {
		o.iov[i].Base = &o.data[i][0]
		o.iov[i].SetLen(len(o.data[i]))
	}
	h := &o.calls[call].header
	raw := o.to[from].Raw()
	h.Name, h.Namelen = unsafe.SliceData(raw), uint32(len(raw))
	if conn {
		h.Name, h.Namelen = nil, 0
	}
	h.Iov = &o.iov[from]
	h.SetIovlen(to - from)
	h.Control = nil
	h.SetControllen(0)
	if to == from+1 {
		return
	}
	c := &o.sizes[call]
	c.header.Level, c.header.Type = unix.IPPROTO_UDP, unix.UDP_SEGMENT
	c.header.SetLen(controlLength)
	c.size = uint16(len(o.data[from]))
	h.Control = (*byte)(unsafe.Pointer(c))
	h.SetControllen(int(unsafe.Sizeof(*c)))
}

// sendCalls makes prepared calls on a socket, and says how many the kernel made.
func (p *Port) sendCalls(fd, from, to int) (int, unix.Errno) {
	p.stats.Calls++
	n, _, err := syscall.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&p.out.calls[from])), uintptr(to-from), unix.MSG_DONTWAIT, 0, 0)
	if err != 0 {
		return 0, err
	}
	return int(n), 0
}

// sendTo sends one datagram.
func (p *Port) sendTo(data []byte, to *link.Address) unix.Errno {
	p.stats.Calls++
	raw := to.Raw()
	_, _, err := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(p.fd), uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data)), unix.MSG_DONTWAIT,
		uintptr(unsafe.Pointer(unsafe.SliceData(raw))), uintptr(len(raw)))
	return err
}

// sendConnected sends one datagram through the connected socket.
func (p *Port) sendConnected(data []byte) unix.Errno {
	p.stats.Calls++
	_, _, err := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(p.conn.fd), uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data)),
		unix.MSG_DONTWAIT, 0, 0)
	return err
}

// prepare makes the structures of a slot.
func (r *receiver) prepare(i int) {
	r.iov[i].Base = &r.data[i][0]
	r.iov[i].SetLen(len(r.data[i]))
	h := &r.calls[i].header
	h.Name = &r.from[i][0]
	h.Iov = &r.iov[i]
	h.SetIovlen(1)
	h.Control = (*byte)(unsafe.Pointer(&r.ctl[i]))
	r.again(i)
}

// again undoes what the kernel wrote into the header of a slot.
func (r *receiver) again(i int) {
	h := &r.calls[i].header
	h.Namelen = uint32(len(r.from[i]))
	h.SetControllen(int(unsafe.Sizeof(r.ctl[i])))
}

// receiveCalls fills slots, and says how many.
func (p *Port) receiveCalls(most int) int {
	p.stats.Calls++
	if p.in.lone = most == 1; p.in.lone {
		return p.receiveOne()
	}
	n, _, err := syscall.RawSyscall6(unix.SYS_RECVMMSG, uintptr(p.fd), uintptr(unsafe.Pointer(&p.in.calls[0])), uintptr(most), unix.MSG_DONTWAIT, 0, 0)
	if err != 0 {
		return 0
	}
	return int(n)
}

// receiveOne is what a process that polls calls, over and over. recvfrom costs a quarter of a
// microsecond less than recvmsg, but does not tell of joined datagrams: their own lengths do.
func (p *Port) receiveOne() int {
	m, data := &p.in.calls[0], p.in.data[0]
	n, _, err := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(p.fd), uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data)),
		unix.MSG_DONTWAIT|unix.MSG_TRUNC, uintptr(unsafe.Pointer(&p.in.from[0][0])), uintptr(unsafe.Pointer(&m.header.Namelen)))
	if err != 0 {
		return 0
	}
	m.header.Flags = 0
	if int(n) > len(data) {
		n, m.header.Flags = uintptr(len(data)), unix.MSG_TRUNC
	}
	m.length = uint32(n)
	m.header.SetControllen(0)
	return 1
}

// arrived is what came into a slot, with the length of the datagrams that it is joined of (0: it is
// one), and readies the slot for the next call.
func (r *receiver) arrived(i int) (data []byte, from link.Address, segment int, whole bool) {
	m := &r.calls[i]
	h := &m.header
	data = r.data[i][:m.length]
	from = link.FromRaw(r.from[i][:min(int(h.Namelen), len(r.from[i]))])
	if c := &r.ctl[i]; h.Controllen >= joinedLength && c.header.Level == unix.IPPROTO_UDP && c.header.Type == unix.UDP_GRO {
		segment = int(c.size)
	}
	whole = h.Flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) == 0
	r.again(i)
	return data, from, segment, whole
}

// bind binds a socket.
func bind(fd int, a link.Address) error {
	raw := a.Raw()
	if _, _, err := unix.RawSyscall(unix.SYS_BIND, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(raw))), uintptr(len(raw))); err != 0 {
		return err
	}
	return nil
}

// connect gives a socket a peer.
func connect(fd int, a link.Address) error {
	raw := a.Raw()
	if _, _, err := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(raw))), uintptr(len(raw))); err != 0 {
		return err
	}
	return nil
}

// localAddress is what a socket is bound to; none if that is not an IP address.
func localAddress(fd int) (link.Address, error) {
	raw := make([]byte, unix.SizeofSockaddrAny)
	size := uint32(len(raw))
	if _, _, err := unix.RawSyscall(unix.SYS_GETSOCKNAME, uintptr(fd), uintptr(unsafe.Pointer(&raw[0])), uintptr(unsafe.Pointer(&size))); err != 0 {
		return link.Address{}, err
	}
	return link.FromRaw(raw[:min(int(size), len(raw))]), nil
}

// overflowed returns how many datagrams found the socket's queue full (Linux 4.12; else 0).
func overflowed(fd int) uint64 {
	var info [unix.SK_MEMINFO_DROPS + 1]uint32
	size := uint32(unsafe.Sizeof(info))
	_, _, err := unix.RawSyscall6(
		unix.SYS_GETSOCKOPT,
		uintptr(fd),
		unix.SOL_SOCKET,
		unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info)),
		uintptr(unsafe.Pointer(&size)),
		0,
	)
	if err != 0 {
		return 0
	}
	return uint64(info[unix.SK_MEMINFO_DROPS])
}
