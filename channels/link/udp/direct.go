package udp

import (
	"os"
	"score/channels/link"

	"golang.org/x/sys/unix"
)

const (
	// directPages is of how many pages a datagram has bytes that are sent from where they lie: it
	// has 17 parts in the kernel, and its header may be two of them.
	directPages = 15
	// minDirect is how many bytes it has at least: for fewer, two system calls more take as long as
	// the copy.
	minDirect = 32 << 10
	// aheadPages is the length of the pipe: eight datagrams, and a page more if they begin within
	// one.
	aheadPages = 128
)

var pageBytes = os.Getpagesize()

// direct sends bytes from where they lie: a pipe passes the pages of the program's memory to a
// socket, where they become parts of the datagram. So the reader's kernel makes the only copy if
// there is no wire between, and an adapter fetches them itself.
type direct struct {
	out, in int          // ends of the pipe
	room    int          // bytes that it surely takes, wherever they begin
	ahead   []byte       // what is in it
	fd      int          // a socket that only sends
	to      link.Address // that it is connected to
	open    bool
	off     bool // the system does not do it, or failed once
}

// ready reports whether the pipe and the socket are there. It opens them.
func (d *direct) ready(p *Port) bool {
	if d.open || d.off {
		return d.open
	}
	d.open = true
	d.in, d.out, d.to = -1, -1, link.Address{}
	if d.fd = p.openSending(); d.fd < 0 || !d.openPipe() {
		d.giveUp()
	}
	return d.open
}

// openPipe reports whether the pipe holds a datagram: a user with many pipes gets short ones.
func (d *direct) openPipe() bool {
	var pipe [2]int
	if unix.Pipe2(pipe[:], unix.O_CLOEXEC|unix.O_NONBLOCK) != nil {
		return false
	}
	d.out, d.in = pipe[0], pipe[1]
	_, _ = unix.FcntlInt(uintptr(d.in), unix.F_SETPIPE_SZ, aheadPages*pageBytes) // it may be shorter
	size, err := unix.FcntlInt(uintptr(d.in), unix.F_GETPIPE_SZ, 0)
	d.room = size - pageBytes
	return err == nil && size >= directPages*pageBytes
}

func (d *direct) closePipe() {
	if d.in >= 0 {
		unix.Close(d.in)
		unix.Close(d.out)
	}
	d.in, d.out, d.ahead = -1, -1, nil
}

// giveUp ends direct sending for good. What the socket has of a datagram is dropped with it.
func (d *direct) giveUp() {
	if d.open {
		d.closePipe()
		if d.fd >= 0 {
			unix.Close(d.fd)
		}
	}
	d.open, d.off = false, true
}

// load has the pipe begin with the bytes, and reports whether it does.
func (d *direct) load(data []byte) bool {
	if len(d.ahead) >= len(data) && &d.ahead[0] == &data[0] {
		return true
	}
	return d.empty() && d.fill(data) && len(d.ahead) == len(data)
}

// empty drops what is in the pipe.
func (d *direct) empty() bool {
	if len(d.ahead) == 0 {
		return true
	}
	d.closePipe()
	return d.openPipe()
}

// Fit implements link.Bulk.
func (b *Bulk) Fit(to link.Address, data []byte) int {
	n := min(len(data), b.Size(to)-link.BulkBytes)
	if n < minDirect || b.direct.off {
		return n
	}
	return min(n, directPages*pageBytes-offsetInPage(data))
}

// Ahead implements link.Bulk.
func (b *Bulk) Ahead(to link.Address, data []byte) {
	d := &b.direct
	if d.open && !d.empty() {
		d.giveUp()
	}
	n := 0
	for {
		size := b.Fit(to, data[n:])
		if size < minDirect || n+size > d.room {
			break
		}
		n += size
	}
	if n > 0 && d.ready(b.port) && !d.fill(data[:n]) {
		d.giveUp()
	}
}

// sendDirect sends a datagram whose bytes stay as they are until they have arrived, without a copy
// of them. It reports false if the datagram was not sent and may be sent with one.
func (b *Bulk) sendDirect(to *link.Address, head *[link.BulkBytes]byte, data []byte) (errno unix.Errno, ok bool) {
	d := &b.direct
	if len(data) < minDirect || offsetInPage(data)+len(data) > directPages*pageBytes || !d.ready(b.port) {
		return 0, false
	}
	if *to != d.to {
		if connect(d.fd, *to) != nil {
			d.giveUp()
			return 0, false
		}
		d.to = *to
	}
	if !d.load(data) {
		d.giveUp()
		return 0, false
	}
	switch errno := b.sendHead(head, len(data)); errno {
	case 0:
	case unix.EAGAIN, unix.ENOBUFS:
		return errno, true
	case unix.ECONNREFUSED: // of an earlier datagram
		return 0, false
	default:
		d.giveUp()
		return 0, false
	}
	if !d.pass(len(data)) {
		d.giveUp()
		return 0, false
	}
	d.ahead = d.ahead[len(data):]
	return 0, true
}
