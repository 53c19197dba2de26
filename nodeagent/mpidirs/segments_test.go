package mpidirs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"score/nodeagent/launch"
	"score/nodeagent/privateshm"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// heldVariable names the files that this program has instead of running tests: one that it
// maps, and one that it opens.
const heldVariable = "SCORE_TEST_HELD"

func TestMain(m *testing.M) {
	if held := os.Getenv(heldVariable); held != "" {
		os.Exit(hold(strings.Fields(held)))
	}
	os.Exit(m.Run())
}

// hold has the files until its input ends.
func hold(paths []string) int {
	for i, path := range paths {
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err == nil && i == 0 {
			_, err = unix.Mmap(int(file.Fd()), 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
			file.Close()
		}
		if err != nil {
			fmt.Println(err)
			return 1
		}
	}
	fmt.Println("has them")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// segmentUser is a user of the machine's whom nobody else is.
const segmentUser = 61_817

// What MPI libraries have left goes, unless a process has it open or mapped, or it is not the
// user's.
func TestRemoveSegments(t *testing.T) {
	user := &launch.User{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	if user.UID == 0 {
		user = &launch.User{UID: segmentUser, GID: segmentUser}
	}
	mark := fmt.Sprintf("%06d", os.Getpid()%1_000_000)
	segmentFile := func(name string, owner int) string {
		path := filepath.Join(privateshm.Place, name)
		if err := os.WriteFile(path, []byte("data"), 0o600); err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { os.Remove(path) })
		if os.Geteuid() == 0 {
			if err := os.Lchown(path, owner, owner); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	own := int(user.UID)
	gone := []string{
		segmentFile("mpich_shar_tmp"+mark, own), segmentFile("vader_segment.host."+mark+".1234.0", own),
		segmentFile("osc_sm.host."+mark+".0.3", own), segmentFile("osc_rdma.host."+mark+".2", own), segmentFile("ucx_shm_posix_"+mark, own),
	}
	kept := []string{
		segmentFile("mpich_shar_tmp_"+mark, own), segmentFile("sem.mine-"+mark, own), segmentFile("mine-mpich_shar_tmp"+mark, own),
	}
	if os.Geteuid() == 0 {
		kept = append(kept, segmentFile("ucx_shm_posix_0"+mark, segmentUser+1))
	}
	link := filepath.Join(privateshm.Place, "ucx_shm_posix_1"+mark)
	if err := os.Symlink(kept[0], link); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(link)
	kept = append(kept, link)
	used := []string{segmentFile("mpich_shar_tmp"+reverse(mark), own), segmentFile("ucx_shm_posix_2"+mark, own)}
	release := holdAs(t, user, used)
	if err := RemoveSegments(user); err != nil {
		t.Error(err)
	}
	for _, path := range gone {
		if exists(path) {
			t.Errorf("%s is left", path)
		}
	}
	for _, path := range append(kept, used...) {
		if !exists(path) {
			t.Errorf("%s is gone", path)
		}
	}
	release()
	if err := RemoveSegments(user); err != nil || exists(used[0]) || exists(used[1]) {
		t.Errorf("%v; what was used is left", err)
	}
}

// reverse makes another name of the same length.
func reverse(mark string) string { return "x" + mark[1:] }

// holdAs starts a process of the user that has the files until release.
func holdAs(t *testing.T, user *launch.User, paths []string) (release func()) {
	t.Helper()
	command := exec.Command("/proc/self/exe")
	command.Dir = "/"
	command.Env = []string{heldVariable + "=" + strings.Join(paths, " ")}
	if os.Geteuid() == 0 {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user.UID, Gid: user.GID}}
	}
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Skip("the user cannot execute this test: ", err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	if said, err := io.ReadAll(io.LimitReader(output, int64(len("has them")))); string(said) != "has them" {
		t.Fatalf("%q, %v", said, err)
	}
	return func() {
		input.Close()
		_ = command.Wait()
	}
}

// However many files there are in /dev/shm, the end of a job waits for a part of them only, and an
// administrator reads why.
func TestRemoveSegmentsAmongMany(t *testing.T) {
	user := &launch.User{UID: segmentUser + 1, GID: segmentUser + 1}
	const other = segmentUser + 2 // not root: agents of other tests remove what root's jobs have left
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of two users")
	}
	// Names begin with a letter: those of nodeagent, whose tests run at the same time, with a
	// digit.
	mark := fmt.Sprintf("mpich_shar_tmpm%d", os.Getpid()%10)
	names := make([]string, maxNames)
	for i := range names {
		names[i] = filepath.Join(privateshm.Place, fmt.Sprintf("%s%04x", mark, i))
		t.Cleanup(func() { os.Remove(names[i]) })
		if err := errors.Join(os.WriteFile(names[i], nil, 0o600), os.Chown(names[i], other, other)); err != nil {
			t.Fatal(err)
		}
	}
	own := filepath.Join(privateshm.Place, "ucx_shm_posix_"+strings.Repeat("0", 8))
	t.Cleanup(func() { os.Remove(own) })
	if err := errors.Join(os.WriteFile(own, nil, 0o600), os.Chown(own, int(user.UID), int(user.GID))); err != nil {
		t.Fatal(err)
	}
	found, err := segmentsOf(user.UID)
	if !errors.Is(err, errNames) || len(found) > 1 {
		t.Errorf("found %v, %v", found, err)
	}
	all, err := segmentsOf(other)
	if !errors.Is(err, errNames) || len(all) > maxNames {
		t.Errorf("found %d files, %v", len(all), err)
	}
	if err := RemoveSegments(user); !errors.Is(err, errNames) {
		t.Errorf("removing: %v", err)
	}
}
