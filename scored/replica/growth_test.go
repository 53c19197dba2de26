package replica

import (
	"io/fs"
	"path/filepath"
	"score/scored/state/statepb"
	"score/tests/await"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

// bytesIn returns the size of all files below a directory.
func bytesIn(t *testing.T, dir string) (total int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // the log may be cut meanwhile
		}
		if info, err := entry.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}

// large returns an entry of the size.
func large(term uint64, nanos int64, size int) *statepb.Entry {
	entry := nodeEntry(term, nanos, "n")
	entry.Commands[0].GetRegisterNode().Node.Notes = []string{strings.Repeat("x", size)}
	return entry
}

// Few entries with long command lines do not fill the disk: the log is cut by its bytes, too. The
// state is there after the next start.
func TestLargeEntriesDoNotFillTheDisk(t *testing.T) {
	const (
		size  = 256 << 10
		count = 400 // of entries: 100 MiB
		least = 2 << 20
		most  = 32 << 20
	)
	options := Options{Dir: filepath.Join(t.TempDir(), "data"), minGrowth: least}
	r, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	term := lead(t, r)
	for i := range int64(count) {
		if err := r.Commit(large(term, i+1, size)); err != nil {
			t.Fatal(err)
		}
		// A snapshot, which cuts the log, is written beside the commits.
		await.That(t, "the log is cut", func() bool { return bytesIn(t, options.Dir) <= most })
	}
	list, err := r.stores.snapshots.List()
	if err != nil || len(list) != keptSnapshots {
		t.Fatalf("%d snapshots, %v", len(list), err)
	}
	if apart := list[0].Index - list[1].Index; apart < least/size {
		t.Errorf("the snapshots are %d entries apart, so replicas that lag lack entries", apart)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r, err = Open(options)
	if err != nil {
		t.Fatal(err)
	}
	if got := nodes(r); len(got) != 1 || got[0] != "n" {
		t.Errorf("nodes %v", got)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A snapshot is due after as many bytes as the last one has, and what came while it was written
// counts for the next.
func TestGrowth(t *testing.T) {
	g := newGrowth(100)
	due := func() bool {
		select {
		case <-g.due:
			return true
		default:
			return false
		}
	}
	if g.add(99); due() {
		t.Error("due before its time")
	}
	if g.add(1); !due() {
		t.Error("not due")
	}
	g.add(30) // while it is written
	if !due() || !g.over() {
		t.Error("not due though no snapshot was made")
	}
	if g.onSnapshot(100, 500); g.over() {
		t.Error("what came while it was written makes the next one due")
	}
	if g.add(400); due() {
		t.Error("due sooner than the snapshot is large")
	}
	if g.add(70); !due() {
		t.Error("not due after 500 bytes")
	}
	g.onRestored(10)
	if g.add(99); due() {
		t.Error("what the restored state contains counts")
	}
	if g.add(1); !due() {
		t.Error("not due after a restored state")
	}
}

// Large entries are not kept in memory, and are read from the store; a cached one that was replaced
// by a large one is not returned.
func TestLogCache(t *testing.T) {
	store := raft.NewInmemStore()
	c := &logCache{LogStore: store}
	small, big := []byte("small"), make([]byte, cachedBytes+1)
	for index, data := range map[uint64][]byte{1: small, 2: big, 3: small} {
		if err := c.StoreLog(&raft.Log{Index: index, Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	if c.recent[1] == nil || c.recent[2] != nil || c.recent[3] == nil {
		t.Error("small entries are not cached, or a large one is")
	}
	if err := c.StoreLog(&raft.Log{Index: 1, Term: 2, Data: big}); err != nil {
		t.Fatal(err)
	}
	var got raft.Log
	if err := c.GetLog(1, &got); err != nil || got.Term != 2 || len(got.Data) != len(big) {
		t.Errorf("entry of term %d with %d bytes, %v", got.Term, len(got.Data), err)
	}
	if err := c.DeleteRange(3, 3); err != nil {
		t.Fatal(err)
	}
	//nolint:errorlint // Raft compares it this way
	if err := c.GetLog(3, &got); err != raft.ErrLogNotFound {
		t.Errorf("a deleted entry: %v", err)
	}
}
