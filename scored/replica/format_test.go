package replica

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"score/scored/replica/wal"
	"score/scored/state"
	"score/scored/state/statepb"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// record makes the fixture of the present format again. The fixture of a released format never
// changes: increment format first, and write the step that leads to it.
var record = flag.Bool("record-fixture", false, "write testdata of the present format")

func fixture(number int, ext string) string {
	return filepath.Join("testdata", fmt.Sprintf("format-%d.%s", number, ext))
}

// writeStory makes a data directory with the story, and returns its state.
func writeStory(t *testing.T, dir string) *statepb.Snapshot {
	t.Helper()
	r, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	term, nanos := lead(t, r), int64(0)
	first, since := story()
	keyed, ordered := storyOfKeys()
	parts := [][][]*statepb.Command{first, append(since, keyed...), ordered}
	for i, part := range parts {
		for _, commands := range part {
			nanos += 1000
			if err := r.Commit(&statepb.Entry{Term: term, TimeNanos: nanos, Commands: commands}); err != nil {
				t.Fatal(err)
			}
		}
		if i < len(parts)-1 {
			if err := r.raft.Snapshot().Error(); err != nil {
				t.Fatal(err)
			}
		}
	}
	stored := stateOf(t, r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return stored
}

func stateOf(t *testing.T, r *Replica) *statepb.Snapshot {
	t.Helper()
	image := new(statepb.Snapshot)
	r.Read(func(s *state.State) {
		data, err := s.Snapshot()
		if err = errors.Join(err, proto.Unmarshal(data, image)); err != nil {
			t.Fatal(err)
		}
	})
	return image
}

// Data directories of every earlier format can be opened, are converted to the present format, and
// keep their content.
func TestFixtures(t *testing.T) {
	if *record {
		recordFixture(t)
	}
	for number := oldestFormat; number <= format; number++ {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			want := new(statepb.Snapshot)
			text, err := os.ReadFile(fixture(number, "json"))
			if err = errors.Join(err, protojson.Unmarshal(text, want)); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "data")
			unpack(t, fixture(number, "tar.gz"), dir)
			for range 2 {
				r, err := Open(Options{Dir: dir})
				if err != nil {
					t.Fatal(err)
				}
				lead(t, r)
				if diff := cmp.Diff(want, stateOf(t, r), protocmp.Transform()); diff != "" {
					t.Errorf("the state is another one (-want +got):\n%s", diff)
				}
				if err := errors.Join(r.raft.Snapshot().Error(), r.Close()); err != nil {
					t.Fatal(err)
				}
				if found, err := findFormat(dir); err != nil || found != format {
					t.Errorf("format %d, %v", found, err)
				}
			}
		})
	}
}

// What is written equals the fixture of the present format, byte for byte except for times. If this
// fails, the format has changed: increment format, write the step that leads to it (format.go),
// describe it in DESIGN.md, and run
//
//	go test ./scored/replica -run TestFixtures -record-fixture
func TestFormatHasItsFixture(t *testing.T) {
	dir := t.TempDir()
	unpack(t, fixture(format, "tar.gz"), filepath.Join(dir, "recorded"))
	writeStory(t, filepath.Join(dir, "written"))
	recorded, written := describe(t, filepath.Join(dir, "recorded")), describe(t, filepath.Join(dir, "written"))
	if diff := cmp.Diff(recorded, written); diff != "" {
		t.Errorf("the format is no longer %d (-fixture +written):\n%s", format, diff)
	}
}

// describe returns the content of a data directory without times.
func describe(t *testing.T, dir string) (lines []string) {
	t.Helper()
	say := func(f string, args ...any) { lines = append(lines, fmt.Sprintf(f, args...)) }
	data, err := os.ReadFile(filepath.Join(dir, formatName))
	if err != nil {
		t.Fatal(err)
	}
	say("format %q", data)
	db, err := wal.Open(filepath.Join(dir, logName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	last, err := db.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	for i := uint64(1); i <= last; i++ {
		entry := new(raft.Log)
		if err := db.GetLog(i, entry); err != nil {
			t.Fatal(err)
		}
		say("entry %d: term %d, %v, data %x, extensions %x", entry.Index, entry.Term, entry.Type, entry.Data, entry.Extensions)
	}
	for _, key := range []string{"CurrentTerm", "LastVoteTerm", "LastVoteCand"} {
		value, err := db.Get([]byte(key))
		if err != nil {
			t.Fatal(err)
		}
		say("%s: %x", key, value)
	}
	for _, snapshot := range glob(t, dir, snapshotsName, "*-*-*") {
		head, err := os.ReadFile(filepath.Join(snapshot, "meta.json"))
		content := make(map[string]any)
		if err = errors.Join(err, json.Unmarshal(head, &content)); err != nil {
			t.Fatal(err)
		}
		delete(content, "ID") // it contains the time
		say("snapshot %v", content)
		body, err := os.ReadFile(filepath.Join(snapshot, "state.bin"))
		if err != nil {
			t.Fatal(err)
		}
		say("which begins with %q and is %x", body[:20], sha256.Sum256(body))
	}
	return lines
}

func glob(t *testing.T, parts ...string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	from := tar.NewReader(unzipped)
	for {
		head, err := from.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, filepath.Clean(head.Name))
		if head.Typeflag == tar.TypeDir {
			err = os.MkdirAll(to, 0o700)
		} else {
			var data []byte
			if data, err = io.ReadAll(from); err == nil {
				err = errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, data, 0o600))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func recordFixture(t *testing.T) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	stored := writeStory(t, dir)
	text, err := protojson.MarshalOptions{Multiline: true, Indent: "  "}.Marshal(stored)
	if err = errors.Join(err, os.WriteFile(fixture(format, "json"), append(text, '\n'), 0o644)); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(fixture(format, "tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	zipped := gzip.NewWriter(file)
	to := tar.NewWriter(zipped)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || entry.Name() == lockName {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		head := &tar.Header{Name: strings.TrimPrefix(path, dir+"/"), Mode: 0o600, Size: int64(len(data))}
		if err := to.WriteHeader(head); err != nil {
			return err
		}
		_, err = to.Write(data)
		return err
	})
	if err := errors.Join(err, to.Close(), zipped.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// A conversion that is interrupted at any point is completed when the directory is opened again.
func TestInterruptedConversion(t *testing.T) {
	jobs := map[int]int{1: 6, 2: 6, 3: 10}
	for found := oldestFormat; found < format; found++ {
		for _, test := range []struct {
			name  string
			after func(t *testing.T, dir string) // what the interrupted attempt has left
		}{
			{"a write fails", func(t *testing.T, dir string) {
				for nth := 1; nth <= 4; nth++ { // term, its vote, candidate, entries
					stop := inject(t, fmt.Sprintf("log.store=error@%d", nth))
					_, err := Open(Options{Dir: dir})
					stop()
					if !errors.Is(err, ErrDisk) || !strings.Contains(err.Error(), "can still be used by the program that wrote it") {
						t.Errorf("write %d: %v", nth, err)
					}
				}
			}},
			{"the log is incomplete", func(t *testing.T, dir string) {
				log, err := wal.Open(filepath.Join(dir, logName))
				if err == nil {
					err = errors.Join(log.SetUint64(termKey, 99), log.StoreLogs([]*raft.Log{{Index: 1, Term: 99}}), log.Close())
				}
				if err != nil {
					t.Fatal(err)
				}
			}},
			{"the old log is still there", func(t *testing.T, dir string) {
				data, err := os.ReadFile(filepath.Join(dir, boltName))
				if err != nil {
					t.Fatal(err)
				}
				r, err := Open(Options{Dir: dir})
				if err == nil {
					err = errors.Join(r.Close(), os.WriteFile(filepath.Join(dir, boltName), data, 0o600))
				}
				if err != nil {
					t.Fatal(err)
				}
			}},
		} {
			t.Run(fmt.Sprint(found, " ", test.name), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "data")
				unpack(t, fixture(found, "tar.gz"), dir)
				test.after(t, dir)
				r, term := open(t, dir)
				if got, err := findFormat(dir); err != nil || got != format {
					t.Errorf("format %d, %v", got, err)
				}
				if got := len(stateOf(t, r).GetJobs()); got != jobs[found] || term > 90 {
					t.Errorf("%d jobs, term %d", got, term)
				}
				if _, err := os.Stat(filepath.Join(dir, boltName)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the old log: %v", err)
				}
			})
		}
	}
}

// A database of an earlier format that is damaged is refused, and stays as it is.
func TestDamagedOldLog(t *testing.T) {
	for _, test := range []struct {
		name   string
		damage func(t *testing.T, path string)
		want   string
	}{
		{"a bit of an entry", func(t *testing.T, path string) { flip(t, path, "key of job ten") }, "its checksum does not match"},
		{"half of it", func(t *testing.T, path string) { truncate(t, path, 4*4096) }, "the file is damaged: it has 16384 bytes, and needs"},
		{"another file", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("\\documentclass{thesis}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "it does not start as a database"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			unpack(t, fixture(3, "tar.gz"), dir)
			test.damage(t, filepath.Join(dir, boltName))
			for range 2 {
				_, err := Open(Options{Dir: dir})
				if err == nil {
					t.Fatal("it was opened")
				}
				for _, part := range []string{boltName, test.want, "join it again"} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("error %q lacks %q", err, part)
					}
				}
			}
		})
	}
}

// Of a log with gaps, which a server has that got a snapshot from another one, the entries behind
// the last gap are converted.
func TestConversionOfALogWithGaps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	unpack(t, fixture(3, "tar.gz"), dir)
	old, err := openBolt(filepath.Join(dir, boltName))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(old.DeleteRange(5, 6), old.Close()); err != nil {
		t.Fatal(err)
	}
	r, _ := open(t, dir)
	if got := len(stateOf(t, r).GetJobs()); got != 10 {
		t.Errorf("%d jobs", got)
	}
	if first, err := r.stores.log.FirstIndex(); err != nil || first != 7 {
		t.Errorf("the log begins at %d, %v", first, err)
	}
}
