package mem

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"score/pm/mem/atomics"
	"strconv"

	"golang.org/x/sys/unix"
)

// What a process that a test started has made.
var (
	windows []*Window
	memory  []byte
)

// commands are what it can do; the arguments are words.
var commands = map[string]func(args []string) (string, error){
	"hello":     func([]string) (string, error) { return "", nil },
	"window":    makeWindow,
	"close":     closeWindow,
	"fill":      fillWindow,
	"reuse":     reuseDescriptor,
	"unsealed":  unsealed,
	"file":      ordinaryFile,
	"pipe":      pipe,
	"memory":    makeMemory,
	"protect":   protect,
	"count":     countMemory,
	"secretive": func([]string) (string, error) { return "", unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) },
	"reach":     reach,
	"add":       addToWindow,
}

func numeral(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func encoded(h Handle) string {
	b := h.Encode()
	return hex.EncodeToString(b[:])
}

// makeWindow makes a window of a size, full of a byte.
func makeWindow(args []string) (string, error) {
	w, err := NewWindow(numeral(args[0]))
	if err != nil {
		return "", err
	}
	windows = append(windows, w)
	fill(w, args[1])
	return encoded(w.Handle()), nil
}

func fillWindow(args []string) (string, error) {
	fill(windows[numeral(args[0])], args[1])
	return "", nil
}

func fill(w *Window, with string) { copy(w.Bytes(), bytes.Repeat([]byte(with), len(w.Bytes()))) }

func closeWindow(args []string) (string, error) { return "", windows[numeral(args[0])].Close() }

// reuseDescriptor closes a window's descriptor behind its back and gives the number to another.
func reuseDescriptor(args []string) (string, error) {
	old, w := windows[numeral(args[0])], windows[numeral(args[1])]
	if err := unix.Dup3(w.fd, old.fd, unix.O_CLOEXEC); err != nil {
		return "", err
	}
	h := w.Handle()
	h.FD = old.handle.FD
	return encoded(h), nil
}

// handleOf describes any file as if it were a window.
func handleOf(fd int, size int) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", err
	}
	return encoded(Handle{FD: uint32(fd), Size: uint64(size), Device: st.Dev, Inode: st.Ino}), nil
}

func unsealed(args []string) (string, error) {
	fd, err := unix.MemfdCreate("unsealed", unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC)
	if err != nil {
		return "", err
	}
	size := numeral(args[0])
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return "", err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, numeral(args[1])); err != nil {
		return "", err
	}
	return handleOf(fd, size)
}

func must(text string, err error) func(error) (string, error) {
	return func(other error) (string, error) { return text, errors.Join(err, other) }
}

func ordinaryFile(args []string) (string, error) {
	f, err := os.CreateTemp("/dev/shm", "score-mem-test")
	if err != nil {
		return "", err
	}
	size := numeral(args[0])
	fd, err := unix.Dup(int(f.Fd()))
	return must(handleOf(fd, size))(errors.Join(err, f.Truncate(int64(size)), os.Remove(f.Name()), f.Close()))
}

func pipe(args []string) (string, error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return "", err
	}
	return handleOf(ends[0], numeral(args[0]))
}

// makeMemory makes ordinary memory full of a byte, with nothing behind it.
func makeMemory(args []string) (string, error) {
	size := numeral(args[0])
	whole, err := unix.Mmap(-1, 0, size+os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return "", err
	}
	memory = whole[:size]
	copy(memory, bytes.Repeat([]byte(args[1]), size))
	return fmt.Sprint(address(memory)), unix.Mprotect(whole[size:], unix.PROT_NONE)
}

func protect([]string) (string, error) { return "", unix.Mprotect(memory, unix.PROT_READ) }

func countMemory(args []string) (string, error) {
	return fmt.Sprint(bytes.Count(memory, []byte(args[0]))), nil
}

// reach tries all ways to another process, and says what came of each.
func reach(args []string) (string, error) {
	p, h, err := openWindow(args)
	if err != nil {
		return "", err
	}
	defer p.Close()
	m, mapErr := p.Map(h)
	if mapErr == nil {
		defer func() { _ = m.Release() }()
	}
	addr, err := strconv.ParseUint(args[3], 10, 64)
	if err != nil {
		return "", err
	}
	b := make([]byte, 1)
	readErr := p.Read(b, addr)
	return fmt.Sprintf("map=%s copy=%v read=%s write=%s", name(mapErr), p.CanCopy(), name(readErr), name(p.Write(addr, b))), nil
}

func openWindow(args []string) (*Peer, Handle, error) {
	h, err := parseHex(args[2])
	if err != nil {
		return nil, h, err
	}
	p, err := NewCache(testLimit).OpenPeer(numeral(args[0]), uint64(numeral(args[1])))
	return p, h, err
}

// addToWindow adds one to the second word of a peer's window, and to a byte, many times.
func addToWindow(args []string) (string, error) {
	p, h, err := openWindow(args)
	if err != nil {
		return "", err
	}
	m, err := p.Map(h)
	if err != nil {
		return "", err
	}
	words, _ := atomics.Lookup(atomics.Sum, atomics.Uint64)
	sum, _ := atomics.Lookup(atomics.Sum, atomics.Uint8)
	one := binary.NativeEndian.AppendUint64(nil, 1)
	for range numeral(args[3]) {
		if err := words(m.Bytes()[8:16], one, nil); err != nil {
			return "", err
		}
		if err := sum(m.Bytes()[17:18], []byte{1}, nil); err != nil {
			return "", err
		}
	}
	return "", errors.Join(m.Release(), p.Close())
}
