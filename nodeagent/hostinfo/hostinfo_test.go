package hostinfo

import (
	"os"
	"path/filepath"
	"testing"
)

func TestGroupMemory(t *testing.T) {
	mount := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(mount, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a/memory.max", "max\n")
	write("a/b/memory.max", "5000\n")
	write("a/b/c/memory.max", "7000\n")
	write("memory/x/memory.limit_in_bytes", "3000\n")
	write("memory/y/memory.limit_in_bytes", "nonsense\n")
	for _, test := range []struct {
		self string
		want uint64
	}{
		{"", ^uint64(0)},
		{"nonsense", ^uint64(0)},
		{"0::/\n", ^uint64(0)},
		{"0::/a\n", ^uint64(0)},
		{"0::/a/b/c\n", 5000},
		{"4:memory:/x\n0::/a/b\n", 3000},
		{"4:memory:/y\n3:cpu:/x\n", ^uint64(0)},
		{"0::/../../a/b\n", 5000},
	} {
		if got := groupMemory(mount, test.self); got != test.want {
			t.Errorf("%q: %d, want %d", test.self, got, test.want)
		}
	}
}

func TestMemTotal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "meminfo")
	for text, want := range map[string]uint64{
		"MemFree: 1 kB\nMemTotal:       16 kB\n": 16 << 10,
		"MemTotal: x kB\n":                       0,
		"":                                       0,
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := memTotal(file); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}
