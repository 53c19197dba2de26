package replica

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/scored/failpoint"
	"score/scored/replica/guard"
	"score/scored/state"
	"score/scored/state/statepb"
	"score/tests/smalldisk"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// smallDisk returns a directory on an empty file system of 4 MB: some segments of the log.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	smalldisk.Mount(t, dir, "size=4m,mode=0700")
	return dir
}

// bulky returns an entry of some 10 KB.
func bulky(term uint64, nanos int64) *statepb.Entry {
	entry := nodeEntry(term, nanos, "n")
	entry.Commands[0].GetRegisterNode().Node.Notes = []string{strings.Repeat("a note ", 1500), fmt.Sprint(nanos)}
	return entry
}

// Whatever the first file is for which a new directory has no room, the sentence says so, as it
// does where nothing can be written.
func TestNoRoomForANewDirectory(t *testing.T) {
	disk := smallDisk(t)
	dir := filepath.Join(disk, "data")
	refused := func(what string, errno syscall.Errno, sentence string) {
		t.Helper()
		r, err := Open(Options{Dir: dir})
		if err == nil {
			t.Fatalf("%s: it opens, %v", what, r.Close())
		}
		if !errors.Is(err, ErrDisk) || !errors.Is(err, errno) || !strings.Contains(err.Error(), sentence) {
			t.Errorf("%s: %v", what, err)
		}
		if err := os.RemoveAll(dir); err != nil && errno != syscall.EROFS {
			t.Fatal(err)
		}
	}
	page := os.Getpagesize()
	for pages := range 4 {
		if err := os.WriteFile(filepath.Join(disk, "ballast"), make([]byte, 4<<20-pages*page), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(fmt.Sprint(pages, " pages"), syscall.ENOSPC, "there is no space left in")
	}
	if err := os.Mkdir(dir, privateMode); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("the file system cannot be made read-only here: %v", err)
	}
	refused("read-only", syscall.EROFS, "is read-only")
}

// fails waits until the replica reports that its disk has failed, and has stopped leading.
func fails(t *testing.T, r *Replica) {
	t.Helper()
	select {
	case <-r.Failed():
	case <-time.After(waitBound):
		t.Fatal("the disk has not failed")
	}
	if err := r.Err(); !errors.Is(err, ErrDisk) {
		t.Fatalf("error %v", err)
	}
	select {
	case l := <-r.Leadership():
		if l.Leader {
			t.Fatalf("leadership %+v on a disk that has failed", l)
		}
	case <-time.After(waitBound):
		t.Fatal("the replica leads on")
	}
}

// On a full disk the leader steps down with an error; with free space it continues where it was.
func TestFullDisk(t *testing.T) {
	dir := smallDisk(t)
	ballast := filepath.Join(dir, "lost+found") // a name that is allowed in a new directory
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	term, committed := lead(t, r), int64(0)
	for err == nil {
		if err = r.Commit(bulky(term, committed+1)); err == nil {
			committed++
		}
	}
	if !errors.Is(err, ErrDisk) || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "there is no space left in") {
		t.Fatalf("after %d commits: %v", committed, err)
	}
	fails(t, r)
	if again := r.Commit(bulky(term, committed+1)); !errors.Is(again, ErrDisk) {
		t.Errorf("a commit on a disk that has failed: %v", again)
	}
	if err := r.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}

	// Restarted without free space, the replica fails in Open or at the first entry, with the same
	// error.
	r, err = Open(Options{Dir: dir})
	if err == nil {
		select {
		case <-r.Failed():
			err = r.Err()
		case <-r.Leadership():
			err = r.Commit(bulky(term+9, committed+1))
		}
		if closeErr := r.Close(); closeErr != nil {
			t.Errorf("Close: %v", closeErr)
		}
	}
	if !errors.Is(err, ErrDisk) && !errors.Is(err, ErrStale) {
		t.Errorf("started again on a full disk: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	r, term = open(t, dir)
	if got := lastCommit(t, r); got < committed {
		t.Errorf("the state is that of commit %d of %d", got, committed)
	}
	if err := r.Commit(bulky(term, committed+2)); err != nil {
		t.Errorf("with room: %v", err)
	}
}

// lastCommit returns the number of the last bulky commit in the state.
func lastCommit(t *testing.T, r *Replica) (number int64) {
	t.Helper()
	r.Read(func(s *state.State) {
		node := s.Node("n")
		if node == nil {
			return
		}
		var err error
		if number, err = strconv.ParseInt(node.Notes[1], 10, 64); err != nil {
			t.Error(err)
		}
	})
	return number
}

// inject sets failpoints of the process until stop is called.
func inject(t *testing.T, list string) (stop func()) {
	t.Helper()
	t.Setenv(failpoint.Variable, list)
	stop, err := failpoint.FromEnvironment("server", func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	return stop
}

// Whichever write fails, no acknowledged entry is lost, and nothing panics.
func TestEveryWriteFails(t *testing.T) {
	for nth := 1; nth <= 8; nth++ {
		t.Run(fmt.Sprint(nth), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			stop := inject(t, fmt.Sprintf("log.store=error@%d", nth))
			acknowledged := int64(0)
			r, err := Open(Options{Dir: dir})
			if err == nil {
				acknowledged = commitUntilItFails(t, r)
			} else if !errors.Is(err, ErrDisk) {
				t.Errorf("Open: %v", err)
			}
			stop()
			again, term := open(t, dir)
			if got := lastCommit(t, again); got < acknowledged {
				t.Errorf("commit %d was acknowledged, the state is of %d", acknowledged, got)
			}
			if err := again.Commit(bulky(term, acknowledged+2)); err != nil {
				t.Error(err)
			}
		})
	}
}

func commitUntilItFails(t *testing.T, r *Replica) (acknowledged int64) {
	t.Helper()
	var term uint64
	select {
	case l := <-r.Leadership():
		term = l.Term
	case <-r.Failed():
	case <-time.After(waitBound):
		t.Fatal("neither leads nor fails")
	}
	for r.Commit(bulky(term, acknowledged+1)) == nil {
		acknowledged++
	}
	select {
	case <-r.Failed():
	case <-time.After(waitBound):
		t.Fatal("no write has failed")
	}
	if err := r.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	return acknowledged
}

// The disk of the leader of three fails: another replica leads, with all acknowledged entries. A
// disk that hangs stops the cluster for guard.WriteBound and an election, not longer.
func TestLeadersDiskFails(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a bound of many seconds; run without -short")
	}
	for _, test := range []struct {
		name, points string
		shortest     time.Duration
	}{
		{"no room", "log.store=error@1", 0},
		{"it hangs", "log.store=delay:8s@1", guard.WriteBound},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newCluster(t, electing)
			s.bound = guard.WriteBound
			s.begin()
			s.commit("a", 1, "n1")
			s.agree("[n1]")
			stop := inject(t, test.points)
			defer stop()
			start := time.Now()
			a := s.all["a"]
			if err := a.Commit(nodeEntry(a.raft.CurrentTerm(), 2, "n2")); !errors.Is(err, ErrDisk) {
				t.Errorf("on a disk that fails: %v", err)
			}
			if took := time.Since(start); took < test.shortest {
				t.Errorf("it failed after %v", took)
			}
			next, term := s.leader("b", "c")
			t.Logf("%s leads after %v", next, time.Since(start))
			s.await("it may commit", func() bool { return s.all[next].Commit(nodeEntry(term, 3, "n3")) == nil })
			if err := a.Err(); !errors.Is(err, ErrDisk) {
				t.Errorf("the disk: %v", err)
			}
			s.close("a")
			s.agree("[n1 n3]")
		})
	}
}
