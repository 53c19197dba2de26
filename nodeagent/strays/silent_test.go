package strays

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/tests/await"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hideVariable names the file that this program maps, and by which it hides its environment,
// instead of running tests.
const hideVariable = "SCORE_TEST_HIDE"

// hide locks this process's memory: one thread reads a mapped file that is never read, another
// waits to map something, and so nobody else gets the lock. It returns the error if it cannot.
func hide(path string) error {
	file, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(file, &st); err != nil { // then the kernel knows its size
		return fmt.Errorf("stat: %w", err)
	}
	page := os.Getpagesize()
	mapped, err := unix.Mmap(file, 0, page, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("mmap: %w", err)
	}
	memory, err := unix.Open("/proc/self/mem", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	go func() { _, _ = unix.Pread(memory, make([]byte, page), addressOf(mapped)) }()
	for {
		time.Sleep(time.Millisecond)
		_, _ = unix.Mmap(-1, 0, page, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON)
	}
}

// A process that keeps its memory locked costs a search two seconds and a thread; the other strays
// are found. As many searches of the user as may be left are, and further ones refused.
func TestSilentProcess(t *testing.T) {
	const other = 61_234
	hider := exec.Command("/proc/self/exe")
	t.Cleanup(func() { _ = hider.Wait() }) // it ends when the file system has
	hider.Env = []string{hideVariable + "=" + mountDeadFile(t)}
	hider.Stderr = os.Stderr
	if err := hider.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hider.Process.Kill() })
	await.That(t, "the memory is locked", func() bool { return waitsForLock(hider.Process.Pid) })
	k := New()
	for i := range maxSearches {
		mark := fmt.Sprintf("%s=silent-%d-%d", Variable, os.Getpid(), i)
		stray := exec.Command("sleep", "1000")
		stray.Env = []string{mark}
		if err := stray.Start(); err != nil {
			t.Fatal(err)
		}
		if err := k.Kill(t.Context(), self, mark); !errors.Is(err, ErrSilent) {
			t.Errorf("search %d: %v", i, err)
		}
		if err := stray.Wait(); err == nil {
			t.Error("the stray ended by itself")
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
	if err := k.Kill(ctx, self, "A=b"); !errors.Is(err, cause) {
		t.Errorf("another search: %v", err)
	}
	if err := k.Kill(t.Context(), other, "A=b"); err != nil {
		t.Errorf("a search of another user: %v", err)
	}
	_ = hider.Process.Kill()
}

// waitsForLock reports whether a thread of the process waits to change its mappings.
func waitsForLock(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/wchan", pid))
	return slices.ContainsFunc(threads, func(thread string) bool {
		at, err := os.ReadFile(thread)
		return err == nil && (strings.Contains(string(at), "mmap") || strings.Contains(string(at), "rwsem"))
	})
}

// The part of linux/fuse.h that mountDeadFile speaks.
const (
	fuseGetattr, fuseOpen, fuseFlush, fuseInit = 3, 14, 25, 26
	fuseMajor, fuseMinor                       = 7, 31
	fuseHeader, fuseInitLen                    = 16, 64
	fuseAttrLen                                = 104
)

// mountDeadFile mounts a file that can be opened and mapped, but whose bytes never come. Whoever
// reads them cannot even be killed, until the end of the test.
func mountDeadFile(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "dead")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("this host lets nobody make file systems: ", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=100644,user_id=0,group_id=0,allow_other", fd)
	if err := unix.Mount("dead", path, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		unix.Close(fd)
		t.Skip("this host lets nobody make file systems: ", err)
	}
	var served sync.WaitGroup
	served.Go(func() { serveDead(fd) })
	t.Cleanup(func() {
		// A forced unmount aborts what waits.
		_ = unix.Unmount(path, unix.MNT_FORCE)
		_ = unix.Unmount(path, unix.MNT_DETACH)
		served.Wait()
		unix.Close(fd)
	})
	return path
}

func serveDead(fd int) {
	request := make([]byte, 1<<20)
	for {
		n, err := unix.Read(fd, request)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOENT):
		case err != nil:
			return // it is unmounted
		case n >= fuseHeader:
			if answer := deadAnswer(request); answer != nil {
				binary.NativeEndian.PutUint32(answer, uint32(len(answer)))
				copy(answer[8:fuseHeader], request[8:fuseHeader]) // the request's number
				_, _ = unix.Write(fd, answer)                     // it fails only if it is unmounted
			}
		}
	}
}

// deadAnswer returns the answer to a request, nil if there is none.
func deadAnswer(request []byte) []byte {
	native := binary.NativeEndian
	switch native.Uint32(request[4:]) {
	case fuseInit:
		answer := make([]byte, fuseHeader+fuseInitLen)
		native.PutUint32(answer[fuseHeader:], fuseMajor)
		native.PutUint32(answer[fuseHeader+4:], fuseMinor)
		return answer
	case fuseGetattr:
		answer := make([]byte, fuseHeader+fuseAttrLen)
		attr := answer[fuseHeader+16:] // after the time for which it is valid
		native.PutUint64(attr, 1)      // the number of the root
		native.PutUint64(attr[8:], uint64(os.Getpagesize()))
		native.PutUint32(attr[60:], unix.S_IFREG|0o644)
		native.PutUint32(attr[64:], 1) // names
		return answer
	case fuseOpen, fuseFlush:
		answer := make([]byte, fuseHeader)
		refused := -int32(unix.ENOSYS) // files need no opening and no closing
		native.PutUint32(answer[4:], uint32(refused))
		return answer
	default:
		return nil
	}
}
