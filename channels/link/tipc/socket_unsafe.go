package tipc

import (
	"score/channels/link"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls, and the structures they take. All memory that they point to is of a Port, which
// the callers hold. RawSyscall, since none of them blocks: the scheduler need not know.

// prepare makes a call of the datagram with the index.
func (p *Port) prepare(i int) {
	o := &p.out
	o.iov[i].Base = &o.Data[i][0]
	o.iov[i].SetLen(len(o.Data[i]))
	h, raw := &o.calls[i].Header, o.To[i].Raw()
	h.Name, h.Namelen = unsafe.SliceData(raw), uint32(len(raw))
	h.Iov = &o.iov[i]
	h.SetIovlen(1)
}

// prepare makes the structures of a slot.
func (r *receiver) prepare(i int) {
	r.iov[i].Base = &r.data[i][0]
	r.iov[i].SetLen(len(r.data[i]))
	h := &r.calls[i].Header
	h.Name = &r.from[i][0]
	h.Namelen = uint32(len(r.from[i]))
	h.Iov = &r.iov[i]
	h.SetIovlen(1)
}

// arrived is what came into a slot, and readies the slot for the next call.
func (r *receiver) arrived(i int) (data []byte, from link.Address, whole bool) {
	m := &r.calls[i]
	n := min(int(m.Length), len(r.data[i]))
	data = r.data[i][:n:n]
	from = link.FromRaw(r.from[i][:min(int(m.Header.Namelen), len(r.from[i]))])
	whole = m.Header.Flags&unix.MSG_TRUNC == 0
	m.Header.Namelen = uint32(len(r.from[i]))
	return data, from, whole
}

// bind gives a socket a name, cluster-wide.
func bind(fd int, name link.Address) error { return bindScope(fd, name, unix.TIPC_CLUSTER_SCOPE) }

// unbind takes a name from a socket: that is a scope below zero.
func unbind(fd int, name link.Address) error { return bindScope(fd, name, -unix.TIPC_CLUSTER_SCOPE) }

func bindScope(fd int, name link.Address, scope int8) error {
	raw := [unix.SizeofSockaddrTIPC]byte(name.Raw())
	(*unix.RawSockaddrTIPC)(unsafe.Pointer(&raw)).Scope = scope
	if _, _, err := unix.RawSyscall(unix.SYS_BIND, uintptr(fd), uintptr(unsafe.Pointer(&raw)), uintptr(len(raw))); err != 0 {
		return err
	}
	return nil
}
