package udp

import (
	"score/channels/link"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls, and the structures they take. All memory that they point to is of a Port, which
// the callers hold. RawSyscall, since none of them blocks: the scheduler need not know.

// control is one control message with a 16-bit number: the length of the segments.
type control struct {
	header unix.Cmsghdr
	size   uint16
	_      [6]byte
}

// controlLength is CMSG_LEN of it.
const controlLength = unix.SizeofCmsghdr + 2

// joined is the control message with the length of the datagrams that the kernel has joined.
type joined struct {
	header unix.Cmsghdr
	size   int32
	_      [4]byte
}

// joinedLength is CMSG_LEN of it.
const joinedLength = unix.SizeofCmsghdr + 4

// prepare makes a call of the datagrams from one index to the other.
func (p *Port) prepare(call, from, to int, conn bool) {
	o, parts := &p.out, 0
	for i := from; i < to; i++ {
		parts += o.fill(o.iov[2*from+parts:], i)
	}
	h := &o.calls[call].Header
	raw := o.To[from].Raw()
	h.Name, h.Namelen = unsafe.SliceData(raw), uint32(len(raw))
	if conn {
		h.Name, h.Namelen = nil, 0
	}
	h.Iov = &o.iov[2*from]
	h.SetIovlen(parts)
	h.Control = nil
	h.SetControllen(0)
	if to == from+1 {
		return
	}
	c := &o.sizes[call]
	c.header.Level, c.header.Type = unix.IPPROTO_UDP, unix.UDP_SEGMENT
	c.header.SetLen(controlLength)
	c.size = uint16(o.Bytes(from))
	h.Control = (*byte)(unsafe.Pointer(c))
	h.SetControllen(int(unsafe.Sizeof(*c)))
}

// fill makes the vector of the datagram with the index, and returns how many parts that has.
func (o *sender) fill(iov []unix.Iovec, i int) (parts int) {
	iov[0].Base = &o.Data[i][0]
	iov[0].SetLen(len(o.Data[i]))
	if len(o.Tail[i]) == 0 {
		return 1
	}
	iov[1].Base = &o.Tail[i][0]
	iov[1].SetLen(len(o.Tail[i]))
	return 2
}

// sendParts sends a datagram that has a tail.
func (p *Port) sendParts(fd, i int, to []byte) unix.Errno {
	o := &p.out
	h := &o.lone
	h.Name, h.Namelen = unsafe.SliceData(to), uint32(len(to))
	h.Iov = &o.parts[0]
	h.SetIovlen(o.fill(o.parts[:], i))
	_, _, err := syscall.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(h)), unix.MSG_DONTWAIT)
	h.Name, o.parts[1].Base = nil, nil
	return err
}

// prepare makes the structures of a slot.
func (r *receiver) prepare(i int) {
	r.iov[i].Base = &r.data[i][0]
	r.iov[i].SetLen(len(r.data[i]))
	h := &r.calls[i].Header
	h.Name = &r.from[i][0]
	h.Iov = &r.iov[i]
	h.SetIovlen(1)
	h.Control = (*byte)(unsafe.Pointer(&r.ctl[i]))
	r.again(i)
}

// again resets what the kernel wrote into the header of a slot.
func (r *receiver) again(i int) {
	h := &r.calls[i].Header
	h.Namelen = uint32(len(r.from[i]))
	h.SetControllen(int(unsafe.Sizeof(r.ctl[i])))
}

// arrived is what came into a slot, with the length of the datagrams that it is joined of (0: it is
// one), and readies the slot for the next call.
func (r *receiver) arrived(i int) (data []byte, from link.Address, segment int, whole bool) {
	m := &r.calls[i]
	h := &m.Header
	data = r.data[i][:m.Length]
	from = link.FromRaw(r.from[i][:min(int(h.Namelen), len(r.from[i]))])
	if c := &r.ctl[i]; h.Controllen >= joinedLength && c.header.Level == unix.IPPROTO_UDP && c.header.Type == unix.UDP_GRO {
		segment = int(c.size)
	}
	whole = h.Flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) == 0
	r.again(i)
	return data, from, segment, whole
}

// sendParts sends a header and bytes as one datagram.
func (b *Bulk) sendParts(to *link.Address, head *[link.BulkBytes]byte, data []byte) unix.Errno {
	b.iov[0].Base = &head[0]
	b.iov[0].SetLen(len(head))
	b.iov[1].Base = unsafe.SliceData(data)
	b.iov[1].SetLen(len(data))
	raw := to.Raw()
	h := &b.call
	h.Name, h.Namelen = unsafe.SliceData(raw), uint32(len(raw))
	h.Iov = &b.iov[0]
	h.SetIovlen(2)
	_, _, err := syscall.RawSyscall(unix.SYS_SENDMSG, uintptr(b.fd), uintptr(unsafe.Pointer(h)), unix.MSG_DONTWAIT)
	h.Name, b.iov[0].Base, b.iov[1].Base = nil, nil, nil
	return err
}

// sendHead sends a header to which size bytes are added before the datagram leaves. The kernel
// would compute the checksum of such a datagram at once, where it leaves that of one which comes
// whole to the adapter. If it is to cut the datagram it does so here, too; it is told of one
// segment.
func (b *Bulk) sendHead(head *[link.BulkBytes]byte, size int) unix.Errno {
	b.iov[0].Base = &head[0]
	b.iov[0].SetLen(len(head))
	c := &b.whole
	c.header.Level, c.header.Type = unix.IPPROTO_UDP, unix.UDP_SEGMENT
	c.header.SetLen(controlLength)
	c.size = uint16(len(head) + size)
	h := &b.call
	h.Name, h.Namelen = nil, 0
	h.Iov = &b.iov[0]
	h.SetIovlen(1)
	h.Control = (*byte)(unsafe.Pointer(c))
	h.SetControllen(int(unsafe.Sizeof(*c)))
	_, _, err := syscall.RawSyscall(unix.SYS_SENDMSG, uintptr(b.direct.fd), uintptr(unsafe.Pointer(h)), unix.MSG_DONTWAIT|unix.MSG_MORE)
	b.iov[0].Base, h.Control = nil, nil
	h.SetControllen(0)
	return err
}

// offsetInPage returns where in a page the bytes begin.
func offsetInPage(data []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(data))) % uintptr(pageBytes))
}

// fill passes the pages of data, which is not empty, to the pipe, which is. It reports whether that
// takes them: fewer if some are not in memory that the process has.
func (d *direct) fill(data []byte) bool {
	part := unix.Iovec{Base: &data[0]}
	part.SetLen(len(data))
	n, _, err := syscall.RawSyscall6(unix.SYS_VMSPLICE, uintptr(d.in), uintptr(unsafe.Pointer(&part)), 1, unix.SPLICE_F_NONBLOCK, 0, 0)
	if err != 0 {
		return false
	}
	d.ahead = data[:n]
	return true
}

// pass passes n bytes from the pipe to the socket, and reports whether it took them all.
func (d *direct) pass(n int) bool {
	done, _, err := syscall.RawSyscall6(unix.SYS_SPLICE, uintptr(d.out), 0, uintptr(d.fd), 0, uintptr(n), unix.SPLICE_F_NONBLOCK)
	return err == 0 && int(done) == n
}

// receiveParts receives a header, and the bytes behind it into place.
func (b *Bulk) receiveParts(place []byte, flags uintptr) (int, unix.Errno) {
	b.iov[0].Base = &b.head[0]
	b.iov[0].SetLen(len(b.head))
	b.iov[1].Base = unsafe.SliceData(place)
	b.iov[1].SetLen(len(place))
	h := &b.call
	h.Name, h.Namelen = &b.from[0], uint32(len(b.from))
	h.Iov = &b.iov[0]
	h.SetIovlen(2)
	if len(place) == 0 {
		h.SetIovlen(1)
	}
	n, _, err := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(b.fd), uintptr(unsafe.Pointer(h)), unix.MSG_DONTWAIT|flags)
	b.iov[1].Base = nil
	return int(n), err
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
