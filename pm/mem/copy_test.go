package mem

import (
	"bytes"
	"errors"
	"math"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func TestCopy(t *testing.T) {
	c := startChild(t)
	p := c.open(t)
	if first, again := p.CanCopy(), p.CanCopy(); !first || !again {
		t.Fatal("copying is not allowed between processes of one user")
	}
	const size = 3*PieceBytes + 8192
	addr := c.askAddress(t, "memory %d m", size)
	got := make([]byte, size)
	if err := p.Read(got, addr); err != nil || bytes.Count(got, []byte("m")) != size {
		t.Fatalf("read %d bytes: %v", bytes.Count(got, []byte("m")), err)
	}
	if err := p.Write(addr+1, bytes.Repeat([]byte("n"), size-2)); err != nil {
		t.Fatal(err)
	}
	if n := c.ask(t, "count n"); n != strconv.Itoa(size-2) {
		t.Errorf("%s bytes were written", n)
	}
	if err := errors.Join(p.Read(nil, 0), p.Write(0, nil)); err != nil {
		t.Errorf("copying nothing: %v", err)
	}
}

// TestPieces: no system call copies more than a piece, and the bytes of all are the whole.
func TestPieces(t *testing.T) {
	p := openSelf(t, NewCache(0))
	source := make([]byte, 2*PieceBytes+100)
	for _, c := range []struct {
		name   string
		length int
		want   []int
	}{
		{"more than two", len(source), []int{PieceBytes, PieceBytes, 100}},
		{"exact", PieceBytes, []int{PieceBytes}},
		{"less", 1, []int{1}},
		{"nothing", 0, []int{0}},
	} {
		target := make([]byte, c.length)
		for i, want := range c.want {
			n, err := p.piece(readCall, target, address(source))
			if err != nil || n != want {
				t.Fatalf("%s: piece %d: %d bytes, %v, want %d", c.name, i, n, err, want)
			}
			target = target[n:]
		}
		if len(target) != 0 {
			t.Errorf("%s: %d bytes are left", c.name, len(target))
		}
	}
}

// TestLengths copies any number of bytes, around the ends of pieces, too.
func TestLengths(t *testing.T) {
	p := openSelf(t, NewCache(0))
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3).Draw(t, "pieces")*PieceBytes + rapid.IntRange(0, 5).Draw(t, "more")
		source, target := make([]byte, n+1), make([]byte, n+1)
		for i := range source {
			source[i] = byte(i*7 + i>>8)
		}
		if err := p.Read(target[:n], address(source)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(target[:n], source[:n]) || target[n] != 0 {
			t.Fatal("other bytes were read")
		}
		clear(target)
		if err := p.Write(address(target), source[:n]); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(target[:n], source[:n]) || target[n] != 0 {
			t.Fatal("other bytes were written")
		}
	})
}

func TestFaults(t *testing.T) {
	c := startChild(t)
	p := c.open(t)
	const size = PieceBytes + 3*65536
	addr := c.askAddress(t, "memory %d m", size)
	buffer := make([]byte, size+65536)
	for _, at := range []uint64{0, 1, nowhere, math.MaxInt64, addr + size} {
		wantCopyError(t, p.Read(buffer[:1], at), ErrFault, 0)
		wantCopyError(t, p.Write(at, buffer[:1]), ErrFault, 0)
	}
	wantCopyError(t, p.Read(buffer, addr), ErrFault, size)
	wantCopyError(t, p.Write(addr, buffer), ErrFault, size)
	wantCopyError(t, p.Read(buffer, addr+PieceBytes), ErrFault, size-PieceBytes)
	for _, at := range []uint64{math.MaxUint64, math.MaxUint64 - size} {
		wantCopyError(t, p.Read(buffer, at), ErrRange, 0)
		wantCopyError(t, p.Write(at, buffer), ErrRange, 0)
	}
	c.ask(t, "protect")
	wantCopyError(t, p.Write(addr, buffer[:10]), ErrFault, 0)
	if err := p.Read(buffer[:10], addr); err != nil {
		t.Error(err)
	}
}

func wantCopyError(t *testing.T, err, want error, done int) {
	t.Helper()
	var e *CopyError
	if !errors.As(err, &e) || !errors.Is(err, want) || e.Done != done {
		t.Errorf("%v, want %v after %d bytes", err, want, done)
	}
}

// TestPeerDiesDuringCopy: between two pieces, and at any moment.
func TestPeerDiesDuringCopy(t *testing.T) {
	const size = 8 * PieceBytes
	c := startChild(t)
	p, addr := c.open(t), c.askAddress(t, "memory %d m", size)
	buffer := make([]byte, size)
	if n, err := p.piece(readCall, buffer, addr); err != nil || n != PieceBytes {
		t.Fatal(n, err)
	}
	c.End()
	_, err := p.piece(readCall, buffer[PieceBytes:], addr+PieceBytes)
	wantError(t, "after the death", err, ErrGone)

	c = startChild(t)
	p, addr = c.open(t), c.askAddress(t, "memory %d m", size)
	read := make(chan error)
	go func() {
		b := make([]byte, size)
		err := p.Read(b, addr)
		read <- err
		for err == nil {
			err = p.Read(b, addr)
		}
		read <- err
	}()
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	_ = c.Process.Kill()
	err = <-read
	wantError(t, "killed", err, ErrGone)
	var e *CopyError
	if !errors.As(err, &e) || e.Done < 0 || e.Done > size {
		t.Errorf("%v", err)
	}
}

// TestCloseDuringCopy: Close waits for a piece only, and the copy ends with an error.
func TestCloseDuringCopy(t *testing.T) {
	p := openSelf(t, NewCache(0))
	source, target := make([]byte, 1<<20), make([]byte, 1<<20)
	started, ended := make(chan bool), make(chan error)
	go func() {
		var err error
		for first := true; err == nil; first = false {
			err = p.Read(target, address(source))
			if first {
				close(started)
			}
		}
		ended <- err
	}()
	<-started
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	wantError(t, "read", <-ended, ErrClosed)
}

// TestDenied: the system lets processes of a user reach each other, until one of them forbids it.
func TestDenied(t *testing.T) {
	one, two := startUnprivileged(t), startUnprivileged(t)
	b := one.askHandle(t, "window 4096 a").Encode()
	addr := one.askAddress(t, "memory 4096 m")
	reach := func() string { return two.ask(t, "reach %d %d %x %d", one.pid(), one.start, b, addr) }
	copies := "copy=true read=ok write=ok"
	if scope, err := os.ReadFile(scopePath); err == nil && scope[0] != scopeSameUser {
		copies = "copy=false read=denied write=denied"
	}
	if got, want := reach(), "map=ok "+copies; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	one.ask(t, "secretive")
	if got, want := reach(), "map=denied copy=false read=denied write=denied"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestHotPathsAllocateNothing(t *testing.T) {
	p := openSelf(t, NewCache(testLimit))
	w := newTestWindow(t, 4096)
	source, target := make([]byte, 4096), make([]byte, 4096)
	for name, call := range map[string]func() error{
		"read":  func() error { return p.Read(target, address(source)) },
		"write": func() error { return p.Write(address(source), target) },
		"map": func() error {
			m, err := p.Map(w.Handle())
			if err != nil {
				return err
			}
			return m.Release()
		},
		"alive": func() error {
			if !p.Alive() {
				return ErrGone
			}
			return nil
		},
	} {
		n := testing.AllocsPerRun(100, func() {
			if err := call(); err != nil {
				t.Fatal(name, err)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestSystemErrors(t *testing.T) {
	for errno, want := range map[unix.Errno]error{
		unix.ESRCH: ErrGone, unix.EPERM: ErrDenied, unix.EACCES: ErrDenied, unix.ENOSYS: ErrDenied, unix.ENOENT: ErrHandle,
		unix.EFAULT: ErrFault, unix.ENOMEM: ErrMemory, unix.EMFILE: ErrMemory, unix.EIO: ErrSystem,
	} {
		err := systemError("call", errno)
		wantError(t, errno.Error(), err, want)
		wantError(t, errno.Error(), err, errno)
	}
}
