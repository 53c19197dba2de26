package replica

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"score/scored/api/scorev1"
	"score/scored/state"
	"score/scored/state/statepb"
	"score/tests/child"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// waitBound is longer than any wait that does not hang.
const waitBound = 60 * time.Second

func open(t testing.TB, dir string) (*Replica, uint64) {
	t.Helper()
	r, err := Open(Options{Dir: dir, writeBound: waitBound}) // others may keep the disk busy
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r, lead(t, r)
}

func lead(t testing.TB, r *Replica) uint64 {
	t.Helper()
	select {
	case l := <-r.Leadership():
		if !l.Leader || l.Term == 0 {
			t.Fatalf("leadership %+v", l)
		}
		return l.Term
	case <-time.After(waitBound):
		t.Fatal("the single replica does not lead")
		return 0
	}
}

func nodeEntry(term uint64, nanos int64, name string) *statepb.Entry {
	return &statepb.Entry{Term: term, TimeNanos: nanos, Commands: []*statepb.Command{{
		Command: &statepb.Command_RegisterNode{RegisterNode: &statepb.RegisterNode{Node: &statepb.Node{Name: name, Cpus: 1}}},
	}}}
}

func nodes(r *Replica) []string {
	var names []string
	r.Read(func(s *state.State) {
		for _, node := range s.Nodes() {
			names = append(names, node.Name)
		}
	})
	return names
}

func TestCommitIsThereAfterReopening(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	func() {
		r, err := Open(Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		term := lead(t, r)
		for i := range 3 {
			if err := r.Commit(nodeEntry(term, int64(i+1), fmt.Sprint("n", i))); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("directory %v, %v", info.Mode(), err)
	}
	r, term := open(t, dir)
	if got := fmt.Sprint(nodes(r)); got != "[n0 n1 n2]" {
		t.Fatalf("nodes %s", got)
	}
	if term < 3 {
		t.Fatalf("term %d did not grow", term)
	}
}

func TestSnapshotIsThereAfterReopening(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	r, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	term := lead(t, r)
	if err := r.Commit(nodeEntry(term, 1, "before")); err != nil {
		t.Fatal(err)
	}
	if err := r.raft.Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	if err := r.Commit(nodeEntry(term, 2, "since")); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	again, _ := open(t, dir)
	if got := fmt.Sprint(nodes(again)); got != "[before since]" {
		t.Fatalf("nodes %s", got)
	}
}

func TestSnapshotInMemory(t *testing.T) {
	r, term := open(t, "")
	if err := r.Commit(nodeEntry(term, 1, "n")); err != nil {
		t.Fatal(err)
	}
	if err := r.raft.Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	if err := r.Commit(nodeEntry(term, 2, "m")); err != nil {
		t.Fatal(err)
	}
}

func TestBadEntriesAreReported(t *testing.T) {
	r, term := open(t, "")
	if err := r.Commit(nodeEntry(term+1, 1, "n")); !errors.Is(err, ErrStale) {
		t.Errorf("entry of another term: %v", err)
	}
	if err := r.Commit(nodeEntry(term, 1, "")); !errors.Is(err, state.ErrCommand) {
		t.Errorf("bad command: %v", err)
	}
	settings := &scorev1.Settings{SliceNanos: 1, MaxRows: 1}
	damaged := &statepb.Entry{Term: term, TimeNanos: 1, Commands: []*statepb.Command{{
		Command: &statepb.Command_SetSettings{SetSettings: &statepb.SetSettings{Settings: settings}},
	}, {
		Command: &statepb.Command_RegisterNode{RegisterNode: &statepb.RegisterNode{Node: &statepb.Node{Name: "\xff"}}},
	}}}
	if err := r.Commit(damaged); err == nil || !strings.Contains(err.Error(), "encode") {
		t.Errorf("entry that is no UTF-8: %v", err)
	}
	if got := nodes(r); got != nil {
		t.Errorf("nodes %v", got)
	}
}

func TestDamagedLogEntryChangesNothing(t *testing.T) {
	r, term := open(t, "")
	future := r.raft.Apply([]byte("no protobuf"), enqueueTimeout)
	if err := future.Error(); err != nil {
		t.Fatal(err)
	}
	if err, ok := future.Response().(error); !ok || !strings.Contains(err.Error(), "damaged") {
		t.Fatalf("response %v", future.Response())
	}
	if err := r.Commit(nodeEntry(term, 1, "n")); err != nil {
		t.Fatal(err)
	}
}

// Waiting for the election timeout would delay every attempt; load on the machine does not delay
// all of several attempts as much.
func TestLeadershipComesAtOnce(t *testing.T) {
	const replicas = 10
	took := make([]time.Duration, 0, replicas)
	for range replicas {
		start := time.Now()
		_, _ = open(t, "")
		took = append(took, time.Since(start))
	}
	t.Logf("ready after %v", took)
	if shortest := slices.Min(took); shortest > electionTimeout {
		t.Fatalf("ready after %v: the replica waited for the election timeout", shortest)
	}
}

func TestCloseBeforeAnybodyHeardOfLeadership(t *testing.T) {
	r, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.Commit(nodeEntry(1, 1, "n")); !errors.Is(err, ErrClosed) {
		t.Fatalf("a closed replica committed: %v", err)
	}
}

// Raft does not answer entries that are on their way to the state when it shuts down.
func TestCommitsUnderWayAreAnswered(t *testing.T) {
	r, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	term := lead(t, r)
	reading, release := make(chan struct{}), make(chan struct{})
	go r.Read(func(*state.State) { close(reading); <-release })
	<-reading // nothing is applied from here on
	const commits = 20
	answers := make(chan error, commits+1)
	before := r.raft.LastIndex()
	for i := range uint64(commits) {
		go func() { answers <- r.Commit(nodeEntry(term, int64(i+1), "n")) }()
		for r.raft.LastIndex() <= before+i {
			runtime.Gosched() // for different interleavings
		}
	}
	go func() { answers <- r.Close() }()
	<-r.stop
	close(release)
	for range commits + 1 {
		select {
		case err := <-answers:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(waitBound):
			t.Fatal("a commit or Close has no answer")
		}
	}
}

func TestSecondServerIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	_, err := Open(Options{Dir: dir})
	if !errors.Is(err, ErrInUse) {
		t.Fatalf("error %v", err)
	}
	want := fmt.Sprintf("data directory in use: another server (process %d) uses %q; stop it, or give this one another data_dir", os.Getpid(), dir)
	if err.Error() != want {
		t.Fatalf("error %q\nwant  %q", err, want)
	}
}

// A process that has the lock and is killed leaves no lock behind.
func TestLockDiesWithItsHolder(t *testing.T) {
	if dir := os.Getenv("REPLICA_TEST_LOCK"); dir != "" {
		if _, err := lockDirectory(dir); err != nil {
			t.Fatal(err)
		}
		fmt.Println("locked")
		select {}
	}
	dir := filepath.Join(t.TempDir(), "data")
	holder := exec.Command(os.Args[0], "-test.run=TestLockDiesWithItsHolder$")
	holder.Env = append(os.Environ(), "REPLICA_TEST_LOCK="+dir)
	c := child.Start(t, holder)
	if line := c.Line(t); line != "locked" {
		t.Fatal(line)
	}
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrInUse) {
		t.Errorf("while it is held: %v", err)
	}
	c.End()
	open(t, dir)
}

func TestUnfitDirectories(t *testing.T) {
	tests := []struct {
		name string
		make func(dir string) error
		want string
	}{
		{"open to others", func(dir string) error { return os.Chmod(dir, 0o755) }, "make it private: chmod 700"},
		{"foreign files", func(dir string) error { return os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o600) }, "holds other files (thesis.tex)"},
		{
			"another format",
			func(dir string) error { return os.WriteFile(filepath.Join(dir, formatName), []byte("999\n"), 0o600) },
			"has format 999, and this program reads up to 4: a later version has used it",
		},
		{"no format", func(dir string) error { return os.WriteFile(filepath.Join(dir, formatName), []byte("ocean\n"), 0o600) }, "is not a format"},
		{"log is a file", func(dir string) error {
			return errors.Join(writeFormat(filepath.Join(dir, formatName)), os.WriteFile(filepath.Join(dir, logName), nil, 0o600))
		}, "not a directory"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if err := errors.Join(os.Mkdir(dir, 0o700), test.make(dir)); err != nil {
				t.Fatal(err)
			}
			_, err := Open(Options{Dir: dir})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v", err)
			}
			if !errors.Is(err, ErrDirectory) {
				t.Fatalf("error %v is no ErrDirectory", err)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: file}); !errors.Is(err, ErrDirectory) {
		t.Fatalf("a file as directory: %v", err)
	}
}

func TestPowerLostWhileTheFormatWasWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, formatName+freshSuffix), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
}

func TestRaftIsQuiet(t *testing.T) {
	core, lines := observer.New(zap.InfoLevel)
	r, err := Open(Options{Dir: filepath.Join(t.TempDir(), "data"), Logger: zap.New(core)})
	if err != nil {
		t.Fatal(err)
	}
	term := lead(t, r)
	if err := errors.Join(r.Commit(nodeEntry(term, 1, "n")), r.Close()); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines.All() {
		t.Errorf("%v %s %v", line.Level, line.Message, line.ContextMap())
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, kind := range []string{"disk", "memory"} {
		b.Run(kind, func(b *testing.B) {
			dir := ""
			if kind == "disk" {
				dir = filepath.Join(b.TempDir(), "data")
			}
			r, term := open(b, dir)
			n := int64(0)
			for b.Loop() {
				n++
				if err := r.Commit(nodeEntry(term, n, "n")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
