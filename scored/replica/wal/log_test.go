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
func TestLogModel(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatal(err)
		}
		m := &logModel{dir: dir, log: openLog(t, dir), stable: map[string]uint64{}, term: 1}
		t.Repeat(map[string]func(*rapid.T){
			"store": m.store, "replace the end": m.replaceEnd, "delete the beginning": m.deleteBeginning,
			"set": m.set, "open": m.reopen, "": m.check,
		})
		closeLog(t, m.log)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	})
}

// logModel is a log with what it should hold.
type logModel struct {
	dir     string
	log     *Log
	entries []*raft.Log // with consecutive indices
	stable  map[string]uint64
	term    uint64
}

// next is the index after the last entry; 0: there are no entries.
func (m *logModel) next() uint64 {
	if len(m.entries) == 0 {
		return 0
	}
	return m.entries[len(m.entries)-1].Index + 1
}

func (m *logModel) check(t *rapid.T) {
	if diff := cmp.Diff(describe(m.entries), content(t, m.log)); diff != "" {
		t.Fatal(diff)
	}
	for key, want := range m.stable {
		if got, err := m.log.GetUint64([]byte(key)); err != nil || got != want {
			t.Fatalf("%s is %d, %v; want %d", key, got, err, want)
		}
	}
}

func (m *logModel) store(t *rapid.T) {
	first := max(m.next(), 1) + rapid.SampledFrom([]uint64{0, 0, 0, 0, 50}).Draw(t, "gap")
	if len(m.entries) == 0 || first > m.next() {
		m.entries = nil
	}
	logs := run(first, first+rapid.Uint64Range(0, 20).Draw(t, "more"), m.term, rapid.SampledFrom([]int{0, 10, 5000, 200_000}).Draw(t, "size"))
	store(t, m.log, logs)
	m.entries = append(m.entries, logs...)
}

func (m *logModel) replaceEnd(t *rapid.T) {
	if len(m.entries) == 0 {
		t.Skip("empty")
	}
	m.term++
	keep := rapid.IntRange(0, len(m.entries)-1).Draw(t, "keep")
	first := m.entries[keep].Index
	m.deleteRange(t, first, m.entries[len(m.entries)-1].Index)
	logs := run(first, first, m.term, 100)
	store(t, m.log, logs)
	m.entries = append(slices.Clone(m.entries[:keep]), logs...)
}

func (m *logModel) deleteBeginning(t *rapid.T) {
	if len(m.entries) == 0 {
		t.Skip("empty")
	}
	count := rapid.IntRange(1, len(m.entries)).Draw(t, "count")
	m.deleteRange(t, m.entries[0].Index, m.entries[count-1].Index)
	m.entries = m.entries[count:]
}

func (m *logModel) set(t *rapid.T) {
	key, value := rapid.SampledFrom([]string{"term", "vote"}).Draw(t, "key"), rapid.Uint64().Draw(t, "value")
	if err := m.log.SetUint64([]byte(key), value); err != nil {
		t.Fatal(err)
	}
	m.stable[key] = value
}

// reopen opens the log again, and deletes again what came back.
func (m *logModel) reopen(t *rapid.T) {
	closeLog(t, m.log)
	m.log = openLog(t, m.dir)
	first, _ := m.log.FirstIndex()
	if len(m.entries) == 0 {
		last, _ := m.log.LastIndex()
		m.deleteRange(t, first, last)
		return
	}
	if first > m.entries[0].Index {
		t.Fatalf("it begins at %d, not %d", first, m.entries[0].Index)
	}
	m.deleteRange(t, first, m.entries[0].Index-1)
}

func (m *logModel) deleteRange(t *rapid.T, first, last uint64) {
	if err := m.log.DeleteRange(first, last); err != nil {
		t.Fatal(err)
	}
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
