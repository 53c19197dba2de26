package mem

import (
	"math"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPresent(t *testing.T) {
	if !CanProbe() {
		t.Skip("this kernel cannot tell, Linux from 5.14 on can")
	}
	const size = 3 * PieceBytes
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	memory[10] = 7
	page := int(pageBytes)
	// One page may be read only, the next not at all.
	if err := unix.Mprotect(memory[2*PieceBytes:2*PieceBytes+page], unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mprotect(memory[2*PieceBytes+page:2*PieceBytes+2*page], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	at := addressOf(memory)
	locked, none := at+2*PieceBytes, at+2*PieceBytes+pageBytes
	for _, c := range []struct {
		name            string
		address, length uint64
		read, write     bool
	}{
		{"a byte", at + 10, 1, true, true},
		{"nothing", at + 10, 0, true, true},
		{"several pieces", at + 1, 2*PieceBytes - 1, true, true},
		{"the last byte before a page that is read only", locked - 1, 1, true, true},
		{"into it", locked - 1, 2, true, false},
		{"a page that is read only", locked, pageBytes, true, false},
		{"beyond it", locked, pageBytes + 1, false, false},
		{"a page without rights", none, 1, false, false},
		{"address 0", 0, 1, false, false},
		{"almost no address", pageBytes - 1, 1, false, false},
		{"the last address", math.MaxUint64, 1, false, false},
		{"beyond the last address", math.MaxUint64 - 7, 16, false, false},
		{"the kernel's", 1 << 63, 8, false, false},
		{"more than there is", at, math.MaxUint64 - at, false, false},
		{"more than can be", at, math.MaxUint64, false, false},
	} {
		if read, write := Present(c.address, c.length, false), Present(c.address, c.length, true); read != c.read || write != c.write {
			t.Errorf("%s: read %t, write %t", c.name, read, write)
		}
	}
	if memory[10] != 7 {
		t.Error("the content changed")
	}
}
