package strays

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/tests/await"
	"score/tests/deadfs"
	"slices"
	"strings"
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
	dead := filepath.Join(t.TempDir(), "dead")
	if err := os.WriteFile(dead, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	hider := exec.Command("/proc/self/exe")
	t.Cleanup(func() { _ = hider.Wait() }) // it ends when the file system has
	deadfs.File(t, dead)
	hider.Env = []string{hideVariable + "=" + dead}
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
