package realtime

import (
	"os"
	"strings"
	"testing"
)

func TestMapping(t *testing.T) {
	for _, c := range []struct {
		line     string
		from, to uintptr
		ok       bool
	}{
		{"00400000-00a00000 r-xp 00000000 fe:00 123   /bin/scored", 0x400000, 0xa00000, true},
		{"00a00000-01200000 r--p 00600000 fe:00 123   /bin/scored", 0xa00000, 0x1200000, true},
		{"01200000-01300000 rw-p 00e00000 fe:00 123   /bin/scored", 0, 0, false},
		{"00400000-00a00000 r-xp 00000000 fe:00 124   /lib/other.so", 0, 0, false},
		{"7ffc0000-7ffc1000 rw-p 00000000 00:00 0     [stack]", 0, 0, false},
		{"00400000 r-xp 00000000 fe:00 123 /bin/scored", 0, 0, false},
		{"zz-00a00000 r-xp 00000000 fe:00 123 /bin/scored", 0, 0, false},
		{"00a00000-00400000 r-xp 00000000 fe:00 123 /bin/scored", 0, 0, false},
		{"", 0, 0, false},
	} {
		from, to, ok := mapping(c.line, "/bin/scored")
		if from != c.from || to != c.to || ok != c.ok {
			t.Errorf("%q: %x %x %v", c.line, from, to, ok)
		}
	}
}

// Prefault must find this program among its own mappings, or it does nothing.
func TestPrefaultFindsTheProgram(t *testing.T) {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(maps)) {
		if _, _, ok := mapping(line, program); ok {
			found++
		}
	}
	if found == 0 {
		t.Errorf("no mapping of %s", program)
	}
	Prefault()
}
