package cgroup

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRootName(t *testing.T) {
	cases := map[string]struct {
		cluster, node, want string
	}{
		"usual":             {"dev", "node1", "score.dev.node1"},
		"all characters":    {"aZ9_-", "n.b-c_d", "score.aZ9_-.n.b-c_d"},
		"longest":           {"c", strings.Repeat("n", maxNameLen), "score.c." + strings.Repeat("n", maxNameLen)},
		"empty cluster":     {"", "n", ""},
		"empty node":        {"c", "", ""},
		"dot in cluster":    {"a.b", "n", ""},
		"way out":           {"c", "../../etc", ""},
		"hidden":            {"c", ".n", ""},
		"slash":             {"c", "a/b", ""},
		"zero byte":         {"c", "a\x00", ""},
		"blank":             {"c", "a b", ""},
		"leading dash":      {"-c", "n", ""},
		"line end":          {"c", "n\n", ""},
		"too long":          {"c", strings.Repeat("n", maxNameLen+1), ""},
		"letter with marks": {"c", "nö", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := rootName(c.cluster, c.node)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
			if err != nil && !errors.Is(err, ErrName) {
				t.Errorf("the error is no ErrName: %v", err)
			}
		})
	}
}

func TestSlotNames(t *testing.T) {
	for _, n := range []int{0, 1, 42, MaxSlot} {
		name, err := slotName(n)
		back, ok := slotOf(name)
		if err != nil || !ok || back != n {
			t.Errorf("slot %d: %q, %v, back %d, %v", n, name, err, back, ok)
		}
	}
	for _, n := range []int{-1, MaxSlot + 1} {
		if _, err := slotName(n); !errors.Is(err, ErrName) {
			t.Errorf("slot %d: %v", n, err)
		}
	}
	for _, name := range []string{"", "s", "s-", "s--1", "s-+1", "s-01", "s-1x", "s-99999999", "x-1", "S-1", "cgroup.procs"} {
		if n, ok := slotOf(name); ok {
			t.Errorf("%q is taken for slot %d", name, n)
		}
	}
}

func TestParseMounts(t *testing.T) {
	const hybrid = `22 1 0:20 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
23 22 0:21 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
24 22 0:22 / /sys/fs/cgroup/memory rw,relatime shared:9 master:1 - cgroup cgroup rw,memory
25 22 0:23 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	cases := map[string]struct {
		text string
		want mounts
	}{
		"pure":        {"30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n", mounts{v2: "/sys/fs/cgroup"}},
		"hybrid":      {hybrid, mounts{v2: "/sys/fs/cgroup/unified", v1Memory: "/sys/fs/cgroup/memory"}},
		"first wins":  {hybrid + "26 22 0:23 /x /other rw - cgroup2 cgroup2 rw\n", mounts{v2: "/sys/fs/cgroup/unified", v1Memory: "/sys/fs/cgroup/memory"}},
		"escaped":     {"30 23 0:26 / /a\\040b rw - cgroup2 none rw\n", mounts{v2: "/a b"}},
		"joint":       {"30 23 0:26 / /m rw - cgroup none rw,cpu,memory\n", mounts{v1Memory: "/m"}},
		"pids":        {"30 23 0:26 / /p rw - cgroup none rw,pids\n31 23 0:27 / /q rw - cgroup none rw,pids\n", mounts{v1Pids: "/p"}},
		"none":        {"30 23 0:26 / /proc rw - proc proc rw\n", mounts{}},
		"malformed":   {"x\n - \n30 - cgroup2 a b\n1 2 3 4 5 -\n", mounts{}},
		"not memory":  {"30 23 0:26 / /m rw - cgroup none rw,memoryless\n", mounts{}},
		"name in cut": {"30 23 0:26 / /m rw - ext4 /dev/memory rw,memory\n", mounts{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseMounts(strings.NewReader(c.text))
			if err != nil || got != c.want {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestField(t *testing.T) {
	const stat = "usage_usec 12\nuser_usec 7\nnr 18446744073709551615\nbig 184467440737095516150\nnone x\nlast 5"
	cases := []struct {
		key  string
		want uint64
		ok   bool
	}{
		{"usage_usec ", 12, true},
		{"user_usec ", 7, true},
		{"usec ", 0, false},
		{"big ", 0, false},
		{"none ", 0, false},
		{"last ", 5, true},
		{"missing ", 0, false},
		{"", 0, false},
	}
	for _, c := range cases {
		if got, ok := field([]byte(stat), c.key); got != c.want || ok != c.ok {
			t.Errorf("%q: %d, %v", c.key, got, ok)
		}
	}
	if got, ok := field([]byte("77\n"), ""); got != 77 || !ok {
		t.Errorf("a file of one number: %d, %v", got, ok)
	}
	if got, ok := field([]byte("n 1844674407370955160\n"), "n "); got != math.MaxUint64/10-1 || !ok {
		t.Errorf("a large number: %d, %v", got, ok)
	}
}

func FuzzField(f *testing.F) {
	f.Add([]byte("populated 1\nfrozen 0\n"), "frozen ")
	f.Add([]byte("a"), "ab")
	f.Fuzz(func(t *testing.T, text []byte, key string) {
		if _, ok := field(text, key); ok && !strings.Contains(string(text), key) {
			t.Fatalf("%q found in %q", key, text)
		}
	})
}

func TestParseOOM(t *testing.T) {
	for text, want := range map[string]uint64{
		"oom_kill_disable 0\nunder_oom 0\noom_kill 3\n":               3,
		"low 0\nhigh 0\nmax 7\noom 2\noom_kill 2\noom_group_kill 1\n": 2,
		"oom_kill_disable 0\n":                                        0, // before Linux 4.13
	} {
		if got := parseOOM(text); got.Kills != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestProbeSaysWhy(t *testing.T) {
	if r := probe(mounts{}); r.Usable || !strings.Contains(r.Reason, "no cgroup v2 tree is mounted") {
		t.Errorf("nothing mounted: %+v", r)
	}
	dir := t.TempDir()
	if r := probe(mounts{v2: dir}); r.Usable || !strings.Contains(r.Reason, "not the top of a cgroup v2 tree") {
		t.Errorf("no group: %+v", r)
	}
	if r := probe(mounts{v2: filepath.Join(dir, "none")}); r.Usable || !strings.Contains(r.Reason, "cannot be written") {
		t.Errorf("no directory: %+v", r)
	}
	if r := probe(mounts{v2: "/proc/self"}); r.Usable || r.Reason == "" {
		t.Errorf("not writable: %+v", r)
	}
	if _, err := openRoot(mounts{}, "c", "n", makeDir); !errors.Is(err, ErrUnusable) {
		t.Errorf("opening a root: %v", err)
	}
	fakeFile(t, dir, "cgroup.subtree_control", "")
	if r := probe(mounts{v2: dir}); !r.Usable || r.Memory != MemoryNone || !strings.Contains(r.Reason, "memory") {
		t.Errorf("no memory controller: %+v", r)
	}
	if r := probe(mounts{v2: dir, v1Memory: dir}); !r.Usable || r.Memory != MemoryV1 || r.Reason != "" {
		t.Errorf("memory of v1: %+v", r)
	}
	fakeFile(t, dir, "cgroup.controllers", "cpu memory pids\n")
	if r := probe(mounts{v2: dir, v1Memory: dir}); r.Memory != MemoryV2 || r.Memory.String() != "v2" {
		t.Errorf("memory of v2: %+v", r)
	}
}

func fakeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
