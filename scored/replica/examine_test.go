package replica

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/scored/replica/wal"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// commitNodes makes one entry for each name.
func commitNodes(t *testing.T, r *Replica, term uint64, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := r.Commit(nodeEntry(term, 1, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// filled returns a data directory after three snapshots, of which two are kept, and an entry after
// the last: nodes a to d.
func filled(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	r, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	term := lead(t, r)
	config := r.raft.ReloadableConfig()
	config.TrailingLogs = 1
	if err := r.raft.ReloadConfig(config); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		commitNodes(t, r, term, name+"ocean")
		if err := r.raft.Snapshot().Error(); err != nil {
			t.Fatal(err)
		}
	}
	commitNodes(t, r, term, "docean")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

const wantNodes = "[aocean bocean cocean docean]"

// snapshotDirs returns the directories of the snapshots, newest first.
func snapshotDirs(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, snapshotsName, "*-*-*"))
	if err != nil || len(found) != keptSnapshots {
		t.Fatalf("snapshots %v, %v", found, err)
	}
	files, err := raft.NewFileSnapshotStore(dir, keptSnapshots, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := files.List()
	if err != nil {
		t.Fatal(err)
	}
	dirs := make([]string, 0, len(list))
	for _, meta := range list {
		dirs = append(dirs, filepath.Join(dir, snapshotsName, meta.ID))
	}
	return dirs
}

// flip changes one bit of a file near each occurrence of text: a file can have several copies.
func flip(t *testing.T, path, text string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte(text)) {
		t.Fatalf("%q is not in %s", text, path)
	}
	for at := bytes.Index(data, []byte(text)); at >= 0; at = bytes.Index(data, []byte(text)) {
		data[at+len(text)/2] ^= 1
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedSnapshotIsReplacedByTheOneBefore(t *testing.T) {
	for _, test := range []struct {
		name   string
		damage func(t *testing.T, snapshot string)
	}{
		{"a flipped bit", func(t *testing.T, s string) { flip(t, filepath.Join(s, "state.bin"), "cocean") }},
		{"cut off", func(t *testing.T, s string) { truncate(t, filepath.Join(s, "state.bin"), 5) }},
		{"an index of its head", func(t *testing.T, s string) { flip(t, filepath.Join(s, "meta.json"), "ConfigurationIndex\":1,") }},
		{"its head garbled", func(t *testing.T, s string) { flip(t, filepath.Join(s, "meta.json"), "\"Version\":") }},
		{"its head empty", func(t *testing.T, s string) { truncate(t, filepath.Join(s, "meta.json"), 0) }},
		{"a file is gone", func(t *testing.T, s string) { remove(t, filepath.Join(s, "state.bin")) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filled(t)
			newest := snapshotDirs(t, dir)[0]
			test.damage(t, newest)
			core, lines := observer.New(zap.WarnLevel)
			r, err := Open(Options{Dir: dir, Logger: zap.New(core)})
			if err != nil {
				t.Fatal(err)
			}
			lead(t, r)
			if got := fmt.Sprint(nodes(r)); got != wantNodes {
				t.Errorf("nodes %s", got)
			}
			said := lines.FilterMessageSnippet("a snapshot is damaged").All()
			if len(said) != 1 || said[0].ContextMap()["snapshot"] != newest {
				t.Errorf("lines %v", lines.All())
			}
			if _, err := os.Stat(filepath.Join(dir, damagedSnapshotName)); err != nil {
				t.Errorf("the damaged one is not kept: %v", err)
			}
			if err := errors.Join(r.raft.Snapshot().Error(), r.Close()); err != nil {
				t.Error(err)
			}
			again, _ := open(t, dir)
			if got := fmt.Sprint(nodes(again)); got != wantNodes {
				t.Errorf("opened once more: nodes %s", got)
			}
		})
	}
}

func truncate(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// Damage that cannot be repaired is refused with an error that names the file and what to do, and
// the directory is not changed.
func TestDamageIsRefused(t *testing.T) {
	for _, test := range []struct {
		name   string
		damage func(t *testing.T, dir string) (file string)
		want   string
	}{
		{"both snapshots", func(t *testing.T, dir string) string {
			for _, snapshot := range snapshotDirs(t, dir) {
				flip(t, filepath.Join(snapshot, "state.bin"), "bocean")
			}
			cutLog(t, dir)
			return snapshotDirs(t, dir)[0]
		}, "CRC mismatch"},
		{"all snapshots gone", func(t *testing.T, dir string) string {
			if err := os.RemoveAll(filepath.Join(dir, snapshotsName)); err != nil {
				t.Fatal(err)
			}
			cutLog(t, dir)
			return filepath.Join(dir, logName)
		}, "entry 1: log not found"},
		{"a bit of an entry", func(t *testing.T, dir string) string {
			flip(t, segment(dir), "docean")
			return segment(dir)
		}, "is damaged"},
		{"half of the log", func(t *testing.T, dir string) string {
			truncate(t, segment(dir), 1<<19)
			return segment(dir)
		}, "it has 524288 bytes, and needs 1048576"},
		{"the log", func(t *testing.T, dir string) string {
			if err := os.RemoveAll(filepath.Join(dir, logName)); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(dir, logName)
		}, "it is missing"},
		{"another file", func(t *testing.T, dir string) string {
			if err := os.WriteFile(segment(dir), bytes.Repeat([]byte("\\documentclass{thesis}"), 1000), 0o600); err != nil {
				t.Fatal(err)
			}
			return segment(dir)
		}, "it does not start as a file of the log"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filled(t)
			file := test.damage(t, dir)
			for range 2 { // the first refusal has changed nothing
				r, err := Open(Options{Dir: dir})
				if err == nil {
					t.Fatal(r.Close(), "it was opened")
				}
				for _, part := range []string{file, test.want, "join it again", "scored snapshot restore"} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("error %q lacks %q", err, part)
					}
				}
			}
		})
	}
}

// segment returns the only file of a short log.
func segment(dir string) string { return filepath.Join(dir, logName, "0000000000000001") }

// cutLog removes the first entry from the files of a log. In a longer log it would be in a file
// that was removed.
func cutLog(t *testing.T, dir string) {
	t.Helper()
	old, err := wal.Open(filepath.Join(dir, logName))
	if err != nil {
		t.Fatal(err)
	}
	last, err := old.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	entries := make([]*raft.Log, 0, last)
	for i := uint64(2); i <= last; i++ {
		entry := new(raft.Log)
		if err := old.GetLog(i, entry); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, entry)
	}
	if err := errors.Join(old.Close(), os.RemoveAll(filepath.Join(dir, logName))); err != nil {
		t.Fatal(err)
	}
	cut, err := wal.Open(filepath.Join(dir, logName))
	if err == nil {
		err = errors.Join(cut.StoreLogs(entries), cut.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// After a power failure during the last write, the log is that before it.
func TestTornLastRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	r, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	term := lead(t, r)
	commitNodes(t, r, term, "a", "b", strings.Repeat("c", 5000))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(segment(dir))
	if err != nil {
		t.Fatal(err)
	}
	const sector = 512
	at := (bytes.Index(data, []byte("cccc")) + sector) / sector * sector
	clear(data[at : at+sector])
	if err := os.WriteFile(segment(dir), data, 0o600); err != nil {
		t.Fatal(err)
	}
	again, term := open(t, dir)
	if got := nodes(again); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("nodes %v", got)
	}
	commitNodes(t, again, term, "d")
}

// An incomplete snapshot is not used.
func TestUnfinishedSnapshotIsRemoved(t *testing.T) {
	dir := filled(t)
	left := filepath.Join(dir, snapshotsName, "9-99-123"+unfinished)
	if err := errors.Join(os.Mkdir(left, 0o700), os.WriteFile(filepath.Join(left, "state.bin"), []byte("half"), 0o600)); err != nil {
		t.Fatal(err)
	}
	r, _ := open(t, dir)
	if got := fmt.Sprint(nodes(r)); got != wantNodes {
		t.Errorf("nodes %s", got)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}

// The log keeps the entries after the last but one snapshot, and only what Raft wants to keep
// beyond that, however many entries come.
func TestLogIsCut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	r, term := open(t, dir)
	config := r.raft.ReloadableConfig()
	config.TrailingLogs = 10
	if err := r.raft.ReloadConfig(config); err != nil {
		t.Fatal(err)
	}
	sizes := make([]int, 0, 10)
	var previous, present uint64 // indices of the snapshots
	for round := range 10 {
		for i := range 100 {
			if err := r.Commit(bulky(term, int64(100*round+i+1))); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.raft.Snapshot().Error(); err != nil {
			t.Fatal(err)
		}
		previous, present = present, r.stores.snapshotIndex(t)
		first, err := r.stores.log.FirstIndex()
		if err != nil {
			t.Fatal(err)
		}
		if first > previous+1 {
			t.Errorf("round %d: the log begins at %d, the snapshot before the last ends at %d", round, first, previous)
		}
		if round > 0 && first != previous+1 {
			t.Errorf("round %d: the log begins at %d, not after %d", round, first, previous)
		}
		files, err := os.ReadDir(filepath.Join(dir, logName))
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(files))
	}
	if grown := sizes[9] - sizes[4]; grown > 1 { // segments of 100 entries of 10 KB
		t.Errorf("the number of the log's files grows on: %v", sizes)
	}
}

// snapshotIndex returns the index of the newest snapshot.
func (s *stores) snapshotIndex(t *testing.T) uint64 {
	t.Helper()
	list, err := s.snapshots.List()
	if err != nil || len(list) == 0 {
		t.Fatalf("snapshots %v, %v", list, err)
	}
	return list[0].Index
}
