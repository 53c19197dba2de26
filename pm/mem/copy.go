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
	return p.transfer(readCall, dst, addr)
}

// Write copies src to the peer's memory at the address, as Read does the other way.
func (p *Peer) Write(addr uint64, src []byte) error {
	return p.transfer(writeCall, src, addr)
}

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
func (p *Peer) transfer(call copyCall, local []byte, addr uint64) error {
	if uint64(len(local)) > math.MaxUint64-addr {
		return &CopyError{Err: fmt.Errorf("%w: %d bytes at %#x", ErrRange, len(local), addr)}
	}
	done, certain := 0, 0
	for {
		n, err := p.piece(call, local[done:], addr+uint64(done))
		if err != nil {
			if errors.Is(err, ErrGone) {
				done = certain
			}
			return &CopyError{Done: done, Err: err}
		}
		if done == len(local) {
			return nil
		}
		certain = done
		done += n
	}
}

// piece copies the first bytes, at most PieceBytes, if the process is alive. Without bytes it only
// finds out whether it is.
func (p *Peer) piece(call copyCall, local []byte, addr uint64) (int, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return 0, ErrClosed
	}
	if !p.alive() {
		return 0, ErrGone
	}
	if len(local) == 0 {
		return 0, nil
	}
	length := min(len(local), PieceBytes)
	here := [1]unix.Iovec{{Base: &local[0]}}
	here[0].SetLen(length)
	there := [1]unix.RemoteIovec{{Base: uintptr(addr), Len: length}}
	n, err := call.do(p.pid, here[:], there[:])
	if err != nil && !p.alive() {
		return 0, ErrGone // whatever the system says of what is left of it
	}
	if err != nil {
		return 0, systemError(call.String(), err)
	}
	if n <= 0 {
		return 0, fmt.Errorf("%w: %v copied nothing", ErrSystem, call)
	}
	return n, nil
}
