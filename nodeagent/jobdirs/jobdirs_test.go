package jobdirs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/nodeagent/mpidirs"
	"score/nodeagent/steward/stewardpb"
	"score/nodeagent/stewardpool"
	"score/nodeagent/userfs"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// userID is the jobs' user. Root can have a user of whom nothing else is on the machine.
func userID() int {
	if euid := os.Geteuid(); euid != 0 {
		return euid
	}
	return 61234
}

// newDirs are the directories of an agent n1 in a place of the test; nothing is made yet.
func newDirs(t *testing.T) (d *Dirs, notes *[]string) {
	t.Helper()
	base, notes := t.TempDir(), new([]string)
	run := filepath.Join(base, "run", "n1")
	return New(Options{
		JobsDir: filepath.Join(base, "stage", "n1.jobs"), RunDir: run, Prefix: mpidirs.Prefix("c", "n1", run),
		Note: func(note string) { *notes = append(*notes, note) }, Logger: zap.NewNop(), Go: func(f func()) { f() },
	}), notes
}

func open(t *testing.T, d *Dirs, orphans ...*stewardpool.Orphan) {
	t.Helper()
	if err := d.Open(orphans); err != nil {
		t.Fatal(err)
	}
}

// leave makes a directory of a former job, with a file.
func leave(t *testing.T, place, name string) (dir string) {
	t.Helper()
	dir = filepath.Join(place, name)
	file := filepath.Join(dir, "sub", "file")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Dir(file), file} {
		if err := os.Chown(path, userID(), userID()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func orphan(job uint64, dir, files string) *stewardpool.Orphan {
	order := &agentpb.Prepare{JobId: job, Spec: &scorev1.JobSpec{Env: []string{dirVariable + "=" + dir}}, User: user()}
	return &stewardpool.Orphan{Status: &stewardpb.Status{Order: &stewardpb.PrepareJob{Job: order, Files: files}}}
}

func user() *scorev1.Identity {
	return &scorev1.Identity{Uid: uint32(userID()), Gid: uint32(userID())}
}

// names lists a directory; nil: it is not there.
func names(dir string) (list []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestOpenRemovesWhatEndedJobsLeft(t *testing.T) {
	d, notes := newDirs(t)
	var held []*stewardpool.Orphan
	for i, place := range d.places() {
		leave(t, place, "9-left")
		held = append(held, orphan(uint64(i+1), leave(t, place, fmt.Sprintf("%d-held", i+1)), ""))
		for _, name := range []string{"8-file", RanksSocket} {
			if err := os.WriteFile(filepath.Join(place, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("/etc", filepath.Join(place, "7-link")); err != nil {
			t.Fatal(err)
		}
	}
	open(t, d, held...)
	for i, place := range d.places() {
		if got := names(place); !slices.Equal(got, []string{fmt.Sprintf("%d-held", i+1), RanksSocket}) {
			t.Errorf("%s has %q", place, got)
		}
		if info, err := os.Stat(place); err != nil || info.Mode().Perm() != dirsMode {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
	if os.Geteuid() != 0 && len(*notes) > 0 {
		t.Errorf("notes %q", *notes)
	}
	d.Close()
	for i, place := range d.places() {
		if names(place) == nil {
			t.Errorf("%s is removed, and a job goes on", place)
		}
		d.Found(held[i]).Remove()
	}
	d.Close()
	for _, place := range d.places() {
		if _, err := os.Stat(place); err == nil {
			t.Errorf("%s is left with %q", place, names(place))
		}
	}
}

func TestPlacesThatCannotBeUsed(t *testing.T) {
	tests := []struct {
		name string
		path func(d *Dirs) string
		make func(path string) error
		err  string
	}{
		{"a link for the ranks' socket", (*Dirs).RanksDir, link, "name another run_dir"},
		{"a file for the ranks' socket", (*Dirs).RanksDir, touch, "name another run_dir"},
		{"a link for the jobs", jobsDir, link, "name another stage_dir"},
		{"a file for the jobs", jobsDir, touch, "name another stage_dir"},
	}
	for _, test := range tests {
		d, _ := newDirs(t)
		path := test.path(d)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), test.make(path)); err != nil {
			t.Fatal(err)
		}
		if err := d.Open(nil); err == nil || !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	// A place that cannot be made keeps no agent from its running jobs.
	d, notes := newDirs(t)
	d.options.JobsDir = "/proc/none/n1.jobs"
	if err := d.Open(nil); err != nil || len(*notes) != 1 || !strings.Contains((*notes)[0], "make room there, or name another stage_dir") {
		t.Errorf("notes %q, %v", *notes, err)
	}
}

func jobsDir(d *Dirs) string { return d.options.JobsDir }

func link(path string) error { return os.Symlink("/tmp", path) }

func touch(path string) error { return os.WriteFile(path, nil, 0o600) }

func TestAJobsDirectories(t *testing.T) {
	d, _ := newDirs(t)
	open(t, d)
	order := &agentpb.Prepare{JobId: 3, Spec: &scorev1.JobSpec{Env: []string{"A=b", dirVariable + "=/outer"}}, User: user()}
	owned := d.Own(order)
	first, err := owned.MakeDir()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := order.GetSpec().GetEnv(), []string{"A=b", dirVariable + "=" + first}; !slices.Equal(got, want) {
		t.Errorf("environment %q, want %q", got, want)
	}
	info, err := os.Stat(first)
	if err != nil || info.Mode() != os.ModeDir|0o700 || !strings.HasPrefix(filepath.Base(first), "3-") || d.dirIn(order) != first {
		t.Errorf("%s, mode %v, %v", first, info.Mode(), err)
	}
	again, err := d.Own(order).MakeDir() // it was put back into the queue
	if err != nil || again == first {
		t.Errorf("%s again, %v", again, err)
	}
	files := owned.NameFiles()
	if mpidirs.Job(d.options.Prefix, files) != 3 {
		t.Errorf("files %q", files)
	}
	for _, dir := range []string{mpidirs.Shared(files), mpidirs.Session(files)} {
		leave(t, filepath.Dir(dir), filepath.Base(dir))
	}
	owned.Remove()
	if names(first) != nil || len(mpidirs.Find(d.options.Prefix)) > 0 {
		t.Errorf("left: %q, %q", names(first), mpidirs.Find(d.options.Prefix))
	}
	if _, err := os.Stat(first); err == nil {
		t.Error("the directory is left")
	}
	owned.Remove() // nothing
	if err := os.RemoveAll(d.options.JobsDir); err != nil {
		t.Fatal(err)
	}
	if _, err := owned.MakeDir(); err != nil {
		t.Errorf("after somebody has cleaned up: %v", err)
	}
}

// Another user's directory in a job's stays: it may have been moved there, by its owner or by who
// has the one above it.
func TestOthersDirectoriesStay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's jobs have other users")
	}
	d, _ := newDirs(t)
	open(t, d)
	dir := leave(t, d.options.JobsDir, "3-left")
	others := filepath.Join(dir, "sub", "others")
	precious := filepath.Join(others, "precious")
	err := errors.Join(os.Mkdir(others, 0o700), os.WriteFile(precious, nil, 0o600),
		os.Chown(precious, userID()+1, userID()+1), os.Chown(others, userID()+1, userID()+1))
	if err != nil {
		t.Fatal(err)
	}
	if err := removeOwned(t.Context(), dir); err == nil || !strings.Contains(err.Error(), `removing "others"`) {
		t.Error(err)
	}
	if got := names(filepath.Dir(others)); !slices.Equal(got, []string{"others"}) {
		t.Errorf("left: %q", got)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

// What a user has mounted over a directory stays, and nobody waits for it.
func TestMountedDirectoriesStay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	d, _ := newDirs(t)
	open(t, d)
	dir := leave(t, d.options.JobsDir, "3-left")
	if err := unix.Mount("mounted", dir, "tmpfs", 0, ""); err != nil {
		t.Skip("this host cannot mount: ", err)
	}
	defer func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }() // it may be gone
	if err := os.WriteFile(filepath.Join(dir, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeOwned(t.Context(), dir); !errors.Is(err, userfs.ErrMount) {
		t.Error(err)
	}
	if owners := ownersOf([]string{dir}); len(owners) > 0 {
		t.Errorf("whoever mounted it says that it is %v's", owners)
	}
	if got := names(dir); !slices.Equal(got, []string{"precious"}) {
		t.Errorf("left: %q", got)
	}
	if err := unix.Unmount(dir, 0); err != nil {
		t.Fatal(err)
	}
	if err := removeOwned(t.Context(), dir); err != nil || names(d.options.JobsDir) != nil {
		t.Errorf("%v, left: %q", err, names(d.options.JobsDir))
	}
}

// What an order says that comes back from a steward is believed only where the agent made names.
func TestWhatAnOrphanOwns(t *testing.T) {
	d, _ := newDirs(t)
	own := mpidirs.Name(d.options.Prefix, 1)
	tests := []struct{ name, dir, files, wantDir, wantFiles string }{
		{"all", d.options.JobsDir + "/1-x", own, d.options.JobsDir + "/1-x", own},
		{"of a former version", d.RanksDir() + "/1-x", own, d.RanksDir() + "/1-x", own},
		{name: "nothing"},
		{name: "elsewhere", dir: "/etc", files: "../etc"},
		{name: "deeper", dir: d.options.JobsDir + "/1-x/y"},
		{name: "back", dir: d.options.JobsDir + "/.."},
		{name: "another agent's", files: mpidirs.Name(mpidirs.Prefix("c", "n2", "/run/n2"), 1)},
	}
	for _, test := range tests {
		got := d.Found(orphan(1, test.dir, test.files))
		if got.dir != test.wantDir || got.files != test.wantFiles {
			t.Errorf("%s: %q, %q", test.name, got.dir, got.files)
		}
	}
}

// TestRemovingWaitsForNobody: an agent serves its node before what users have left is removed, and
// stops while much is left; the next one removes it.
func TestRemovingWaitsForNobody(t *testing.T) {
	d, _ := newDirs(t)
	open(t, d)
	var background []func()
	later := func(f func()) { background = append(background, f) }
	d.options.Go = later
	left, name := leave(t, d.options.JobsDir, "1-left"), mpidirs.Name(d.options.Prefix, 1)
	leave(t, filepath.Dir(mpidirs.Session(name)), name)
	remains := func() []string { return slices.Concat(names(d.options.JobsDir), mpidirs.Find(d.options.Prefix)) }
	want := []string{filepath.Base(left), mpidirs.Session(name)}
	for range 2 {
		open(t, d)
		d.SweepFiles(nil)
		d.Stop()
		for _, f := range background {
			if got := remains(); !slices.Equal(got, want) {
				t.Errorf("left: %q, want %q", got, want)
			}
			f()
		}
		next := New(d.options)
		d, background = next, nil
	}
	open(t, d)
	d.SweepFiles(nil)
	for _, f := range background {
		f()
	}
	if got := remains(); got != nil {
		t.Errorf("left at the end: %q", got)
	}
}

func TestSweeps(t *testing.T) {
	d, _ := newDirs(t)
	open(t, d)
	held, ended := mpidirs.Name(d.options.Prefix, 1), mpidirs.Name(d.options.Prefix, 2)
	for _, name := range []string{held, ended} {
		leave(t, filepath.Dir(mpidirs.Session(name)), name)
	}
	d.SweepFiles([]*stewardpool.Orphan{orphan(1, "", held)})
	if got := mpidirs.Find(d.options.Prefix); !slices.Equal(got, []string{mpidirs.Session(held)}) {
		t.Errorf("left: %q", got)
	}
	d.SweepFiles(nil)
	if got := mpidirs.Find(d.options.Prefix); got != nil {
		t.Errorf("left at the end: %q", got)
	}
	leave(t, d.options.JobsDir, "1-left")
	if err := touch(filepath.Join(d.options.JobsDir, RanksSocket)); err != nil {
		t.Fatal(err)
	}
	Sweep(d.options.JobsDir)
	if got := names(d.options.JobsDir); !slices.Equal(got, []string{RanksSocket}) {
		t.Errorf("left in the place: %q", got)
	}
	Sweep(filepath.Join(d.options.JobsDir, "none"))
}

func TestNoRoom(t *testing.T) {
	d, _ := newDirs(t)
	other := errors.New("other")
	for err, want := range map[error]string{
		unix.ENOSPC: "the file system of " + d.options.JobsDir + " is full; free some of it",
		unix.EDQUOT: "your quota on the file system of " + d.options.JobsDir + " is used up",
		other:       "making: other",
	} {
		if got := d.NoRoom(fmt.Errorf("making: %w", err)); !errors.Is(got, err) || !strings.HasPrefix(got.Error(), want) {
			t.Errorf("%v: %v", err, got)
		}
	}
	if got := d.NoRoom(nil); got != nil {
		t.Error(got)
	}
}

func TestOpenToAll(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "opn") // all may pass to it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	inner := filepath.Join(dir, "inner")
	link := filepath.Join(dir, "link")
	if err := errors.Join(os.Mkdir(inner, 0o711), os.Symlink(inner, link)); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		mode os.FileMode // of dir
		path string
		want bool
	}{
		{0o711, inner, true},
		{0o711, link, true},
		{0o711, filepath.Join(dir, "none"), false},
		{0o700, inner, false},
		{0o700, link, false},
	}
	for _, test := range tests {
		if err := os.Chmod(dir, test.mode); err != nil {
			t.Fatal(err)
		}
		if got := OpenToAll(test.path); got != test.want {
			t.Errorf("mode %o, %s: %v", test.mode, filepath.Base(test.path), got)
		}
	}
}

// In the host's /dev/shm nothing is looked for at the end of a job that had one of its own.
func TestNothingOfAPrivateShmIsLookedFor(t *testing.T) {
	d, _ := newDirs(t)
	open(t, d)
	for _, private := range []bool{true, false} {
		segment := fmt.Sprintf("/dev/shm/mpich_shar_tmpj%05d", os.Getpid()%100000)
		if err := touch(segment); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(segment)
		if err := os.Chown(segment, userID(), userID()); err != nil {
			t.Fatal(err)
		}
		owned := d.Own(&agentpb.Prepare{JobId: 4, Spec: &scorev1.JobSpec{}, User: user()})
		if private {
			owned.HasPrivateShm()
		}
		owned.Remove()
		if _, err := os.Stat(segment); (err == nil) != private {
			t.Errorf("private: %v: %v", private, err)
		}
		os.Remove(segment) // touch could not open another user's file
	}
}
