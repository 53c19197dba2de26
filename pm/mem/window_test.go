package mem

import (
	"math"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWindow(t *testing.T) {
	page := os.Getpagesize()
	for _, c := range []struct{ size, want int }{{1, page}, {page, page}, {page + 1, 2 * page}, {allocationPiece + 1, allocationPiece + page}} {
		w := newTestWindow(t, c.size)
		if len(w.Bytes()) != c.want || w.Handle().Size != uint64(c.want) {
			t.Errorf("%d bytes: %d, handle says %d", c.size, len(w.Bytes()), w.Handle().Size)
		}
		if w.Bytes()[0] != 0 || w.Bytes()[c.want-1] != 0 {
			t.Error("not zero")
		}
		if blocks(t, w.fd) != int64(c.want) {
			t.Errorf("%d of %d bytes are allocated", blocks(t, w.fd), c.want)
		}
	}
}

func blocks(t *testing.T, fd int) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

func TestWindowSizes(t *testing.T) {
	for _, size := range []int{0, -1, math.MinInt, MaxWindow + 1, math.MaxInt} {
		_, err := NewWindow(size)
		wantError(t, strconv.Itoa(size), err, ErrRange)
	}
	_, err := NewWindow(MaxWindow) // more than any machine has
	wantError(t, "too large", err, ErrMemory)
}

func TestWindowKeepsItsSize(t *testing.T) {
	w := newTestWindow(t, 1<<16)
	for _, size := range []int64{0, 1 << 15, 1 << 17} {
		wantError(t, "truncate to "+strconv.FormatInt(size, 10), unix.Ftruncate(w.fd, size), unix.EPERM)
	}
	if _, err := unix.FcntlInt(uintptr(w.fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); err == nil {
		t.Error("another seal was added")
	}
	if flags, err := unix.FcntlInt(uintptr(w.fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Error("programs that this one starts inherit the window")
	}
}

// TestClosedWindowIsFree: the memory goes back to the system though another mapping is there.
func TestClosedWindowIsFree(t *testing.T) {
	w := newTestWindow(t, 1<<20)
	p := openSelf(t, NewCache(testLimit))
	m, err := p.Map(w.Handle())
	if err != nil {
		t.Fatal(err)
	}
	file, err := unix.Dup(w.fd)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(file)
	w.Bytes()[5] = 1
	if m.Bytes()[5] != 1 || blocks(t, file) != 1<<20 {
		t.Fatal("not the same memory")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := blocks(t, file); n != 0 {
		t.Errorf("%d bytes are still allocated", n)
	}
	if m.Bytes()[5] != 0 {
		t.Error("the mapping shows what the window held")
	}
	wantError(t, "second close", w.Close(), ErrClosed)
	if w.Bytes() != nil {
		t.Error("the closed window has bytes")
	}
	if err := m.Release(); err != nil {
		t.Error(err)
	}
}

func TestParseAvailable(t *testing.T) {
	for text, want := range map[string]uint64{
		"MemTotal: 24684084 kB\nMemFree: 5 kB\nMemAvailable:   20570112 kB\nBuffers: 1 kB\n": 20570112 << 10,
		"MemTotal: 1 kB\nMemAvailable: 0 kB\n":                                               0,
		"MemTotal: 1 kB\n":                                                                   0,
		"MemTotal: 1 kB\nMemAvailable:":                                                      0,
		"MemTotal: 1 kB\nMemAvailable: x kB\n":                                               0,
		"MemTotal: 1 kB\nMemAvailable: 18446744073709551615 kB\n":                            0,
		"": 0,
	} {
		if got := parseAvailable([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
