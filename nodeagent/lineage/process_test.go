package lineage

import (
	"os"
	"testing"
)

func TestParseStat(t *testing.T) {
	fields := " S 42 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 12345 1 1"
	for _, test := range []struct {
		stat string
		ok   bool
	}{
		{"9 (a.out)" + fields, true},
		{"9 (evil) R 1 (x))" + fields, true},
		{"", false},
		{"9 (a.out) S 42", false},
		{"9 a.out" + fields, false},
		{"9 (a.out) S x 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 12345 1 1", false},
		{"9 (a.out) S 42 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 -1 1 1", false},
	} {
		p, err := parseStat(9, []byte(test.stat))
		if (err == nil) != test.ok || test.ok && (p != Process{9, 42, 12345}) {
			t.Errorf("%q: %v, %v", test.stat, p, err)
		}
	}
}

func TestChildOf(t *testing.T) {
	me := os.Getpid()
	p, ok := ChildOf(me, func(pid int) bool { return pid == os.Getppid() })
	if now, err := SinceBoot(); !ok || err != nil || p.PID != me || p.Start == 0 || p.Start > now {
		t.Errorf("this process is told as %v, %v at %d, %v", p, ok, now, err)
	}
	if _, ok := ChildOf(me, func(int) bool { return false }); ok {
		t.Error("a parent that nobody has")
	}
}
