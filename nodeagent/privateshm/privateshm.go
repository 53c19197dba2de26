package privateshm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/nodeagent/launch"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Place is the directory of POSIX shared memory on Linux, see shm_overview(7).
const Place = "/dev/shm"

// CloneFlags are the flags of clone(2) for a process that calls Enter.
const CloneFlags = unix.CLONE_NEWNS

// errNamespace protects the mounts of the host.
var errNamespace = errors.New("this process has the mount namespace of its parent")

// Memory is the /dev/shm of this process's mount namespace. One goroutine at a time may use it.
type Memory struct {
	flags   uintptr
	options string
	empty   unix.Statfs_t // of an unused one
}

// Check goes through all steps of Enter. The error says why a steward cannot have a /dev/shm of its
// own.
func Check() error {
	return Apart(func() error {
		_, err := enter("/proc/thread-self/ns/mnt", "/proc/self/ns/mnt")
		return err
	})
}

// Apart runs f on a thread with a mount namespace of its own, whose mounts nobody else sees and
// which ends afterwards.
func Apart(f func() error) error {
	result := make(chan error)
	launch.OwnThread(func() {
		if err := unix.Unshare(CloneFlags); err != nil {
			result <- fmt.Errorf("the kernel refuses a mount namespace: %w", err)
			return
		}
		if err := separate(); err != nil {
			result <- err
			return
		}
		result <- f()
	})
	return <-result
}

// Enter mounts a /dev/shm for the jobs of this process, which must have been started with
// CloneFlags. Later mounts of the host reach the namespace, and none of its mounts reaches the
// host.
func Enter() (*Memory, error) {
	return enter("/proc/self/ns/mnt", fmt.Sprintf("/proc/%d/ns/mnt", os.Getppid()))
}

func enter(own, host string) (*Memory, error) {
	if err := checkNamespace(own, host); err != nil {
		return nil, err
	}
	if err := separate(); err != nil {
		return nil, err
	}
	m, err := likeHost()
	if err != nil {
		return nil, err
	}
	return m, m.mount()
}

// separate lets later mounts of the host reach this namespace, and none of its mounts reach the
// host.
func separate() error {
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("separating the mounts of jobs from the host's: %w", err)
	}
	return nil
}

// checkNamespace returns an error if the namespace is the host's, in which nothing may be mounted.
func checkNamespace(own, host string) error {
	mine, err := os.Readlink(own)
	if err != nil {
		return fmt.Errorf("reading the mount namespace: %w", err)
	}
	if other, err := os.Readlink(host); err == nil && other == mine {
		return errNamespace
	}
	return nil
}

// likeHost returns a Memory with the size and the noexec of the host's, but nothing mounted. A
// host's /dev/shm that is no tmpfs or has no bounds tells no size; then the kernel's default
// applies, half of the machine's memory.
func likeHost() (*Memory, error) {
	var host unix.Statfs_t
	if err := unix.Statfs(Place, &host); err != nil {
		return nil, fmt.Errorf("looking at the host's %s: %w", Place, err)
	}
	m := &Memory{flags: unix.MS_NOSUID | unix.MS_NODEV, options: "mode=1777"}
	if host.Flags&unix.ST_NOEXEC != 0 {
		m.flags |= unix.MS_NOEXEC
	}
	if host.Type != unix.TMPFS_MAGIC {
		return m, nil
	}
	if host.Blocks > 0 {
		m.options += ",size=" + strconv.FormatUint(host.Blocks*uint64(host.Bsize), 10)
	}
	if host.Files > 0 {
		m.options += ",nr_inodes=" + strconv.FormatUint(host.Files, 10)
	}
	return m, nil
}

func (m *Memory) mount() error {
	if err := unix.Mount("tmpfs", Place, "tmpfs", m.flags, m.options); err != nil {
		return fmt.Errorf("mounting a %s for jobs: %w", Place, err)
	}
	return os.NewSyscallError("statfs", unix.Statfs(Place, &m.empty))
}

// Renew replaces the file system if anything is in it, which frees its memory. No process that uses
// it may live. After an error it must not be used again.
func (m *Memory) Renew() error {
	var now unix.Statfs_t
	if err := unix.Statfs(Place, &now); err != nil {
		return fmt.Errorf("looking at the %s of a job: %w", Place, err)
	}
	if now == m.empty { // as after most jobs; to unmount a file system waits for all CPUs
		return nil
	}
	// Detached, since somebody outside may look into it.
	if err := unix.Unmount(Place, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmounting the %s of a job: %w", Place, err)
	}
	return m.mount()
}

// Hides reports whether a path is in /dev/shm, where nothing of the host is visible to jobs.
func Hides(path string) bool {
	return strings.HasPrefix(filepath.Clean(path)+"/", Place+"/")
}
