package wal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"
	"pgregory.net/rapid"
)

func openLog(t rapid.TB, dir string) *Log {
	t.Helper()
	l, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func closeLog(t rapid.TB, l *Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// run returns entries with consecutive indices and data of the given size.
func run(first, last, term uint64, size int) (logs []*raft.Log) {
	for i := first; i <= last; i++ {
		data := bytes.Repeat([]byte{byte(i), byte(term), 'x'}, size/3+1)[:size]
		logs = append(logs, &raft.Log{Index: i, Term: term, Type: raft.LogCommand, Data: data})
	}
	return logs
}

func store(t rapid.TB, l *Log, logs []*raft.Log) {
	t.Helper()
	if err := l.StoreLogs(logs); err != nil {
		t.Fatal(err)
	}
}

// content returns the entries of a log, each as its index, term and the length of its data.
func content(t rapid.TB, l *Log) (list []string) {
	t.Helper()
	first, err1 := l.FirstIndex()
	last, err2 := l.LastIndex()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for i := first; i <= last && last > 0; i++ {
		var log raft.Log
		if err := l.GetLog(i, &log); err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
		list = append(list, fmt.Sprint(log.Index, " ", log.Term, " ", len(log.Data)))
	}
	return list
}

func TestEntryKeepsAllFields(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	want := []*raft.Log{
		{Index: 7, Term: 3, Type: raft.LogConfiguration, Data: []byte("data"), Extensions: []byte("sum"), AppendedAt: time.Unix(0, 99)},
		{Index: 8, Term: 3, Type: raft.LogNoop},
	}
	l := openLog(t, dir)
	store(t, l, want)
	for range 2 {
		for _, w := range want {
			got := &raft.Log{Data: []byte("old"), Extensions: []byte("old")}
			if err := l.GetLog(w.Index, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(w, got); diff != "" {
				t.Error(diff)
			}
		}
		for _, index := range []uint64{0, 6, 9, 1 << 63} {
			if err := l.GetLog(index, new(raft.Log)); err != raft.ErrLogNotFound { //nolint:errorlint // Raft compares it this way
				t.Errorf("entry %d: %v", index, err)
			}
		}
		closeLog(t, l)
		l = openLog(t, dir)
	}
	closeLog(t, l)
	if err := l.StoreLogs(run(9, 9, 3, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a write after Close: %v", err)
	}
}

// Whatever is stored, replaced and deleted, the log has what a plain map has, also after it was
// opened again: then there may be entries that were deleted, but none between others is missing.
func TestLogAgainstMap(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatal(err)
		}
		l := openLog(t, dir)
		var model []*raft.Log // with consecutive indices
		stable, term := map[string]uint64{}, uint64(1)
		next := func() uint64 {
			if len(model) == 0 {
				return 0
			}
			return model[len(model)-1].Index + 1
		}
		same := func() {
			if diff := cmp.Diff(describe(model), content(t, l)); diff != "" {
				t.Fatal(diff)
			}
			for key, want := range stable {
				if got, err := l.GetUint64([]byte(key)); err != nil || got != want {
					t.Fatalf("%s is %d, %v; want %d", key, got, err, want)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { same() },
			"store": func(t *rapid.T) {
				first := max(next(), 1) + rapid.SampledFrom([]uint64{0, 0, 0, 0, 50}).Draw(t, "gap")
				if len(model) == 0 || first > next() {
					model = nil
				}
				logs := run(first, first+rapid.Uint64Range(0, 20).Draw(t, "more"), term, rapid.SampledFrom([]int{0, 10, 5000, 200_000}).Draw(t, "size"))
				store(t, l, logs)
				model = append(model, logs...)
			},
			"replace the end": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("empty")
				}
				term++
				keep := rapid.IntRange(0, len(model)-1).Draw(t, "keep")
				first := model[keep].Index
				if err := l.DeleteRange(first, model[len(model)-1].Index); err != nil {
					t.Fatal(err)
				}
				logs := run(first, first, term, 100)
				store(t, l, logs)
				model = append(slices.Clone(model[:keep]), logs...)
			},
			"delete the beginning": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("empty")
				}
				count := rapid.IntRange(1, len(model)).Draw(t, "count")
				if err := l.DeleteRange(model[0].Index, model[count-1].Index); err != nil {
					t.Fatal(err)
				}
				model = model[count:]
			},
			"set": func(t *rapid.T) {
				key, value := rapid.SampledFrom([]string{"term", "vote"}).Draw(t, "key"), rapid.Uint64().Draw(t, "value")
				if err := l.SetUint64([]byte(key), value); err != nil {
					t.Fatal(err)
				}
				stable[key] = value
			},
			"open": func(t *rapid.T) {
				closeLog(t, l)
				l = openLog(t, dir)
				first, _ := l.FirstIndex()
				if len(model) == 0 || first > model[0].Index {
					if len(model) > 0 {
						t.Fatalf("it begins at %d, not %d", first, model[0].Index)
					}
					last, _ := l.LastIndex()
					if err := l.DeleteRange(first, last); err != nil {
						t.Fatal(err)
					}
					return
				}
				if err := l.DeleteRange(first, model[0].Index-1); err != nil {
					t.Fatal(err)
				}
			},
		})
		closeLog(t, l)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	})
}

func describe(logs []*raft.Log) (list []string) {
	for _, log := range logs {
		list = append(list, fmt.Sprint(log.Index, " ", log.Term, " ", len(log.Data)))
	}
	return list
}

func segments(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		names = append(names, file.Name())
	}
	return names
}

// Files without entries are removed, and the values that they have are not lost.
func TestOldSegmentsAreRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := openLog(t, dir)
	if err := l.Set([]byte("vote"), []byte("b")); err != nil {
		t.Fatal(err)
	}
	for i := uint64(1); i <= 10; i++ {
		store(t, l, run(i, i, 1, segmentBytes/2)) // one in each segment
	}
	store(t, l, run(11, 11, 1, 3*segmentBytes)) // more than a segment
	if got := len(segments(t, dir)); got != 11 {
		t.Errorf("%d segments", got)
	}
	if err := l.DeleteRange(1, 9); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := segments(t, dir); !slices.Equal(got, []string{"000000000000000a", "000000000000000b"}) {
			t.Errorf("segments %v", got)
		}
		if got := content(t, l); len(got) != 2 {
			t.Errorf("entries %v", got)
		}
		if vote, err := l.Get([]byte("vote")); string(vote) != "b" || err != nil {
			t.Errorf("vote %q, %v", vote, err)
		}
		closeLog(t, l)
		l = openLog(t, dir)
	}
	if err := l.DeleteRange(1, 2); err != nil {
		t.Errorf("deleted again: %v", err)
	}
	if err := l.DeleteRange(1, 11); err != nil {
		t.Error(err)
	}
	if got := segments(t, dir); !slices.Equal(got, []string{"000000000000000b"}) {
		t.Errorf("segments %v", got)
	}
	store(t, l, run(50, 51, 2, 10))
	closeLog(t, l)
	l = openLog(t, dir)
	if got := content(t, l); !slices.Equal(got, []string{"50 2 10", "51 2 10"}) {
		t.Errorf("entries %v", got)
	}
	closeLog(t, l)
}

func TestRefusedWrites(t *testing.T) {
	l := openLog(t, filepath.Join(t.TempDir(), "log"))
	defer closeLog(t, l)
	store(t, l, run(1, 9, 1, 10))
	logs := run(10, 12, 1, 10)
	logs[1].Index = 15
	if err := l.StoreLogs(logs); !errors.Is(err, errOrder) {
		t.Errorf("entries with a gap: %v", err)
	}
	if err := l.StoreLogs([]*raft.Log{{}}); !errors.Is(err, errOrder) {
		t.Errorf("an entry without an index: %v", err)
	}
	if err := l.DeleteRange(3, 4); !errors.Is(err, errOrder) {
		t.Errorf("a hole: %v", err)
	}
	if err := l.Set([]byte("vote"), []byte("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.GetUint64([]byte("vote")); !errors.Is(err, errNumber) {
		t.Errorf("a name as a number: %v", err)
	}
	if got := content(t, l); len(got) != 9 {
		t.Errorf("entries %v", got)
	}
}

// After a write has failed, nothing more is written.
func TestFailedWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := openLog(t, dir)
	store(t, l, run(1, 1, 1, 10))
	whole := l.segments[0].file
	broken, err := os.Open(filepath.Join(dir, segmentName(1)))
	if err != nil {
		t.Fatal(err)
	}
	l.segments[0].file = broken // cannot be written
	first := l.StoreLogs(run(2, 2, 1, 10))
	l.segments[0].file = whole
	if first == nil {
		t.Fatal("it was written")
	}
	if err := l.StoreLogs(run(2, 2, 1, 10)); err == nil || !strings.Contains(err.Error(), "an earlier write has failed") {
		t.Errorf("the next write: %v", err)
	}
	if err := l.SetUint64([]byte("term"), 2); err == nil {
		t.Error("a vote was written")
	}
	if got := content(t, l); len(got) != 1 {
		t.Errorf("entries %v", got)
	}
	closeLog(t, l)
	broken.Close()
}

func BenchmarkStore(b *testing.B) {
	l := openLog(b, filepath.Join(b.TempDir(), "log"))
	defer closeLog(b, l)
	index := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		index++
		if err := l.StoreLogs(run(index, index, 1, 1000)); err != nil {
			b.Fatal(err)
		}
		if index%1000 == 0 {
			if err := l.DeleteRange(0, index-1); err != nil {
				b.Fatal(err)
			}
		}
	}
}
