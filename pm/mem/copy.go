package mem

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

const (
	// PieceBytes is the most that one system call copies. A process that is frozen finishes its
	// call first, so a freeze waits for some 30 us at most, not for a whole copy.
	PieceBytes = 256 << 10
	// pieceBuffers is how many local buffers one call fills or empties; they are on the stack.
	pieceBuffers = 16
	// nowhere is an address that no process has memory at: the last page of the address space.
	nowhere = math.MaxUint64 &^ 4095
)

// copyCall is process_vm_readv or process_vm_writev.
type copyCall bool

const (
	readCall  copyCall = false
	writeCall copyCall = true
)

func (c copyCall) String() string {
	if c == writeCall {
		return "process_vm_writev"
	}
	return "process_vm_readv"
}

func (c copyCall) do(pid int, local []unix.Iovec, remote []unix.RemoteIovec) (int, error) {
	if c == writeCall {
		return unix.ProcessVMWritev(pid, local, remote, 0)
	}
	return unix.ProcessVMReadv(pid, local, remote, 0)
}

// Read copies the peer's memory at the address to dst, in pieces of at most PieceBytes. The peer
// must not change it meanwhile. An error is a *CopyError with ErrGone, ErrDenied, ErrFault,
// ErrRange, ErrMemory or ErrClosed.
func (p *Peer) Read(dst []byte, addr uint64) error {
	one := [1][]byte{dst}
	return p.transfer(readCall, one[:], addr)
}

// Write copies src to the peer's memory at the address, as Read does the other way.
func (p *Peer) Write(addr uint64, src []byte) error {
	one := [1][]byte{src}
	return p.transfer(writeCall, one[:], addr)
}

// Readv is Read into several buffers, one after the other.
func (p *Peer) Readv(dst [][]byte, addr uint64) error { return p.transfer(readCall, dst, addr) }

// Writev is Write from several buffers, one after the other.
func (p *Peer) Writev(addr uint64, src [][]byte) error { return p.transfer(writeCall, src, addr) }

// CanCopy reports whether Read and Write are allowed. The first call finds out: it reads and writes
// a byte at an address that no process has. The kernel checks the permission first, so it answers
// "bad address" if the copy is allowed. A peer that calls Allow must have done so before.
func (p *Peer) CanCopy() bool {
	p.probe.Do(func() {
		var b [1]byte
		p.allowed = errors.Is(p.Read(b[:], nowhere), ErrFault) && errors.Is(p.Write(nowhere, b[:]), ErrFault)
	})
	return p.allowed
}

// transfer copies piece by piece. Each piece is certain once the process was alive after it: until
// then it kept its number.
func (p *Peer) transfer(call copyCall, buffers [][]byte, addr uint64) error {
	rest := cursor{buffers: buffers}
	total, ok := rest.total()
	if !ok || uint64(total) > math.MaxUint64-addr {
		return &CopyError{Err: fmt.Errorf("%w: %d bytes at %#x", ErrRange, total, addr)}
	}
	done, certain := 0, 0
	for {
		n, err := p.piece(call, &rest, total-done, addr+uint64(done))
		if err != nil {
			if errors.Is(err, ErrGone) {
				done = certain
			}
			return &CopyError{Done: done, Err: err}
		}
		if done == total {
			return nil
		}
		certain = done
		done += n
	}
}

// piece copies the next bytes of the rest, at most PieceBytes, if the process is alive. Without a
// rest it only finds out whether it is.
func (p *Peer) piece(call copyCall, rest *cursor, left int, addr uint64) (int, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return 0, ErrClosed
	}
	if !p.alive() {
		return 0, ErrGone
	}
	if left == 0 {
		return 0, nil
	}
	var local [pieceBuffers]unix.Iovec
	count, length := rest.fill(local[:])
	remote := [1]unix.RemoteIovec{{Base: uintptr(addr), Len: length}}
	n, err := call.do(p.pid, local[:count], remote[:])
	if err != nil && !p.alive() {
		return 0, ErrGone // whatever the system says of what is left of it
	}
	if err != nil {
		return 0, systemError(call.String(), err)
	}
	if n <= 0 {
		return 0, fmt.Errorf("%w: %v copied nothing", ErrSystem, call)
	}
	rest.advance(n)
	return n, nil
}

// cursor is a place in a row of buffers.
type cursor struct {
	buffers [][]byte
	offset  int // in the first buffer
}

// total is the length of all buffers; it is not ok if that is too much for an int.
func (c *cursor) total() (total int, ok bool) {
	for _, b := range c.buffers {
		if len(b) > math.MaxInt-total {
			return total, false
		}
		total += len(b)
	}
	return total, true
}

// fill describes the next bytes, at most PieceBytes and as many buffers as there are entries.
func (c *cursor) fill(local []unix.Iovec) (count, length int) {
	for i, b := range c.buffers {
		if i == 0 {
			b = b[c.offset:]
		}
		b = b[:min(len(b), PieceBytes-length)]
		if len(b) == 0 {
			continue
		}
		if count == len(local) {
			break
		}
		local[count].Base = &b[0]
		local[count].SetLen(len(b))
		count++
		length += len(b)
	}
	return count, length
}

// advance goes on by n bytes.
func (c *cursor) advance(n int) {
	c.offset += n
	for len(c.buffers) > 0 && c.offset >= len(c.buffers[0]) {
		c.offset -= len(c.buffers[0])
		c.buffers = c.buffers[1:]
	}
}
