package wal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	"pgregory.net/rapid"
)

// written returns the only segment of a log with entries 1 to 3, and the offsets of their records
// and of the end.
func written(t testing.TB, size int) (data []byte, at [4]int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "log")
	l := openLog(t, dir)
	for i := range uint64(3) {
		at[i] = l.segments[0].end
		store(t, l, run(i+1, i+1, 1, size))
	}
	at[3] = l.segments[0].end
	closeLog(t, l)
	data, err := os.ReadFile(filepath.Join(dir, segmentName(1)))
	if err != nil {
		t.Fatal(err)
	}
	return data, at
}

// reopen opens a log with the given segment 1.
func reopen(t rapid.TB, dir string, data []byte) (*Log, error) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, segmentName(1)), data, 0o600)); err != nil {
		t.Fatal(err)
	}
	return Open(dir)
}

// The last write was interrupted by a power failure: any of its sectors are on disk, and the others
// are as they were. It is as if it had not begun, and the next one takes its place.
func TestInterruptedWrite(t *testing.T) {
	whole, at := written(t, 3000)
	before := bytes.Clone(whole)
	clear(before[at[2]:])
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		data, missing := bytes.Clone(before), false
		for start := at[2] / sector * sector; start < at[3]; start += sector {
			if rapid.Bool().Draw(t, "on disk") {
				copy(data[start:start+sector], whole[start:start+sector])
			} else {
				missing = true
			}
		}
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatal(err)
		}
		l, err := reopen(t, dir, data)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"1 1 3000", "2 1 3000", "3 1 3000"}
		if missing && !bytes.Equal(data, whole) { // a sector of zeros is the same written or not
			want = want[:2]
		}
		for range 2 {
			if got := content(t, l); !slices.Equal(got, want) {
				t.Fatalf("entries %v", got)
			}
			closeLog(t, l)
			if l, err = Open(dir); err != nil {
				t.Fatal(err)
			}
		}
		store(t, l, run(3, 3, 2, 10))
		closeLog(t, l)
		if l, err = Open(dir); err != nil {
			t.Fatal(err)
		}
		if got := content(t, l); !slices.Equal(got, []string{"1 1 3000", "2 1 3000", "3 2 10"}) {
			t.Fatalf("entries %v", got)
		}
		closeLog(t, l)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	})
}

// Damage is refused, and nothing is changed, so that the file can still be repaired.
func TestDamage(t *testing.T) {
	whole, at := written(t, 100)
	for _, test := range []struct {
		name   string
		change func(data []byte) []byte
		want   string
	}{
		{"a bit of an entry", func(d []byte) []byte { d[at[1]+60] ^= 1; return d }, "is damaged, and one at"},
		{"a bit of the last entry", func(d []byte) []byte { d[at[2]+60] ^= 1; return d }, "is damaged"},
		{"a bit of a length", func(d []byte) []byte { d[at[2]+1] ^= 1; return d }, "is damaged"},
		{"a bit of a long length", func(d []byte) []byte { d[at[2]+3] ^= 0x40; return d }, "is damaged"},
		{"a record's head", func(d []byte) []byte { clear(d[at[2] : at[2]+recordHead]); return d }, "is damaged"},
		{"a bit of a kind", func(d []byte) []byte { d[at[2]+8] ^= 1; return d }, "is damaged"},
		{"a record is gone", func(d []byte) []byte { clear(d[at[1]:at[2]]); return d }, "is damaged, and one at"},
		{"a record is twice", func(d []byte) []byte { copy(d[at[2]:], d[at[1]:at[2]]); return d }, "is damaged"},
		{"a bit of the head", func(d []byte) []byte { d[20] ^= 1; return d }, "does not start as a file of the log"},
		{"zeros", func(d []byte) []byte { clear(d); return d }, "does not start as a file of the log"},
		{"another file", func([]byte) []byte { return []byte("\\documentclass{thesis}") }, "does not start as a file of the log"},
		{"empty", func([]byte) []byte { return nil }, "does not start as a file of the log"},
		{"cut off between records", func(d []byte) []byte { return d[:at[2]] }, "bytes, and needs 1048576"},
		{"longer", func(d []byte) []byte { return append(d, 0) }, "it has 1048577 bytes, and needs 1048576"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, data := filepath.Join(t.TempDir(), "log"), test.change(bytes.Clone(whole))
			_, err := reopen(t, dir, data)
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("error %v", err)
			}
			if after, err := os.ReadFile(filepath.Join(dir, segmentName(1))); err != nil || !bytes.Equal(after, data) {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

// Damage between the segments is refused, too.
func TestDamagedDirectory(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(dir string) error
		want   string
	}{
		{"a segment is gone", func(dir string) error { return os.Remove(filepath.Join(dir, segmentName(2))) }, segmentName(2) + ": it is missing"},
		{"two are swapped", func(dir string) error {
			return errors.Join(os.Rename(filepath.Join(dir, segmentName(1)), filepath.Join(dir, "x")),
				os.Rename(filepath.Join(dir, segmentName(2)), filepath.Join(dir, segmentName(1))),
				os.Rename(filepath.Join(dir, "x"), filepath.Join(dir, segmentName(2))))
		}, "it is another file of the log"},
		{"a foreign file", func(dir string) error { return os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o600) }, "it is not a file of the log"},
		{"a directory", func(dir string) error { return os.Mkdir(filepath.Join(dir, segmentName(4)), 0o700) }, "it is not a regular file"},
		{"the end of a full one", func(dir string) error {
			path := filepath.Join(dir, segmentName(2))
			data, err := os.ReadFile(path)
			clear(data[segmentHead:])
			return errors.Join(err, os.WriteFile(path, data, 0o600))
		}, segmentName(2) + ": a record at 48 is damaged"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "log")
			l := openLog(t, dir)
			for i := uint64(1); i <= 3; i++ {
				store(t, l, run(i, i, 1, segmentBytes/2))
			}
			closeLog(t, l)
			if err := test.change(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A segment that was not complete is removed.
func TestInterruptedSegment(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	closeLog(t, openLog(t, dir))
	fresh := filepath.Join(dir, segmentName(2)+freshSuffix)
	if err := os.WriteFile(fresh, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	closeLog(t, openLog(t, dir))
	if _, err := os.Stat(fresh); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// An entry's data that look like a record, even of the same place, are not one.
func TestDataThatLookLikeARecord(t *testing.T) {
	other, at := written(t, 100)
	dir := filepath.Join(t.TempDir(), "log")
	l := openLog(t, dir)
	logs := run(1, 1, 1, 0)
	logs[0].Data = bytes.Repeat(other[at[1]:at[2]], 40)
	store(t, l, logs)
	end := l.segments[0].end
	closeLog(t, l)
	data, err := os.ReadFile(filepath.Join(dir, segmentName(1)))
	if err != nil {
		t.Fatal(err)
	}
	clear(data[segmentHead : segmentHead+recordHead]) // the first sector was not written
	clear(data[segmentHead:sector])
	l, err = reopen(t, dir, data)
	if err != nil {
		t.Fatal(err)
	}
	defer closeLog(t, l)
	if got := content(t, l); got != nil || end <= sector {
		t.Errorf("entries %v, end %d", got, end)
	}
}

// FuzzReplay changes a segment. It is refused, or has entries that can all be read.
func FuzzReplay(f *testing.F) {
	whole, at := written(f, 700)
	f.Add(uint32(0), []byte{}, uint32(0))
	for _, offset := range at {
		f.Add(uint32(offset), []byte{0, 0, 1}, uint32(len(whole)))
		f.Add(uint32(offset), make([]byte, 512), uint32(0))
	}
	f.Fuzz(func(t *testing.T, offset uint32, with []byte, length uint32) {
		data := bytes.Clone(whole)
		copy(data[int(offset)%len(data):], with)
		if length != 0 {
			data = data[:int(length)%(len(data)+1)]
		}
		s := new(segment)
		if s.decodeHead(data) != nil {
			return
		}
		l := &Log{segments: []*segment{s}, stable: make(map[string][]byte)}
		if err := l.replay("", s, data, false); err != nil {
			return
		}
		if _, err := isTorn(data, s.salt, s.end); err != nil {
			return
		}
		for i, p := range l.places {
			var log raft.Log
			if size, err := decodeEntry(data[p.at:p.at+p.size], &log); err != nil || size != p.size || log.Index != l.first+uint64(i) {
				t.Fatalf("entry %d: %d bytes, %+v, %v", i, size, log, err)
			}
		}
	})
}
