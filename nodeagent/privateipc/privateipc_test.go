package privateipc

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"score/nodeagent/privateshm"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// onHost runs f on a thread with the mounts and the IPC namespace of a host of its own, whose
// limits are not the kernel's.
func onHost(t *testing.T, showsQueues bool, f func() error) {
	t.Helper()
	err := privateshm.Apart(func() error {
		if err := unix.Unshare(unix.CLONE_NEWIPC); err != nil {
			return err
		}
		host, err := os.Open("/proc/thread-self/ns/ipc") // while it exists, no other has its inode
		if err != nil {
			return err
		}
		defer host.Close()
		if err := unix.Mount("none", "/dev", "tmpfs", 0, ""); err != nil {
			return err
		}
		if err := os.Mkdir(place, 0o755); err != nil {
			return err
		}
		if showsQueues {
			if err := unix.Mount("none", place, "mqueue", 0, ""); err != nil {
				return err
			}
		}
		for name, value := range changed {
			if err := os.WriteFile(filepath.Join(sysctl, name), []byte(value), 0); err != nil {
				return err
			}
		}
		return f()
	})
	if errors.Is(err, unix.EPERM) {
		t.Skip("no namespaces here: ", err)
	} else if err != nil {
		t.Error(err)
	}
}

// changed are limits of the host that differ from the kernel's.
var changed = map[string]string{
	"kernel/shmmni": "77", "kernel/shmmax": "1048576", "kernel/shm_rmid_forced": "1", "kernel/msgmni": "55",
	"kernel/sem": "250\t32000\t32\t128", "fs/mqueue/queues_max": "3", "fs/mqueue/msg_max": "9",
}

func here(f func() error) error { return f() }

// enterHere is Enter for a thread, which must be in the host's namespace.
func enterHere() (*Namespace, error) { return Enter(here) }

func inode(t *testing.T) uint64 {
	t.Helper()
	var s unix.Stat_t
	if err := unix.Stat("/proc/thread-self/ns/ipc", &s); err != nil {
		t.Error(err)
	}
	return s.Ino
}

func checkLimits(t *testing.T) {
	t.Helper()
	for name, want := range changed {
		if got, err := os.ReadFile(filepath.Join(sysctl, name)); err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%s: %q, want %q, %v", name, got, want, err)
		}
	}
}

func checkEmpty(t *testing.T) {
	t.Helper()
	for _, table := range []string{memoryTable, setTable, queueTable} {
		if text, err := os.ReadFile(table); err != nil || bytes.Count(text, []byte("\n")) != 1 {
			t.Errorf("%s: %q, %v", table, text, err)
		}
	}
	if entries, err := os.ReadDir(place); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

const someKey, size, forAll = 77, 4096, unix.IPC_CREAT | 0o666

func makeMemory() error {
	_, err := unix.SysvShmGet(someKey, size, forAll)
	return err
}

func makeObject(call, b, c uintptr) error {
	if _, _, e := unix.RawSyscall(call, someKey, b, c); e != 0 {
		return e
	}
	return nil
}

var objects = map[string]func() error{
	"memory":     makeMemory,
	"semaphores": func() error { return makeObject(unix.SYS_SEMGET, 4, forAll) },
	"a queue":    func() error { return makeObject(unix.SYS_MSGGET, forAll, 0) },
	"a POSIX queue": func() error {
		f, err := os.Create(filepath.Join(place, "x"))
		return errors.Join(err, f.Close())
	},
}

// What a job leaves is gone for the next one, and a namespace in which nothing was made stays.
func TestRenew(t *testing.T) {
	for name, leave := range objects {
		t.Run(name, func(t *testing.T) {
			onHost(t, true, func() error {
				host := inode(t)
				n, err := enterHere()
				if err != nil {
					return err
				}
				first := inode(t)
				if err := n.Renew(false); err != nil || inode(t) != first || first == host {
					t.Errorf("an unused namespace was replaced, or is the host's: %v", err)
				}
				for range 2 {
					before := inode(t)
					if err := leave(); err != nil {
						return err
					}
					if err := n.Renew(false); err != nil {
						return err
					}
					if now := inode(t); now == before || now == host {
						t.Error("the same namespace")
					}
					checkEmpty(t)
					checkLimits(t)
				}
				return nil
			})
		})
	}
}

// Limits that a job of root's has changed are the host's again for the next.
func TestRenewAfterRoot(t *testing.T) {
	onHost(t, true, func() error {
		n, err := enterHere()
		if err != nil {
			return err
		}
		for name := range changed {
			if err := os.WriteFile(filepath.Join(sysctl, name), []byte("1 1 1 1"), 0); err != nil {
				return err
			}
		}
		if err := n.Renew(true); err != nil {
			return err
		}
		checkLimits(t)
		return nil
	})
}

// Jobs have no object of the host's, and the host keeps those.
func TestEnter(t *testing.T) {
	onHost(t, true, func() error {
		host, err := os.Open("/proc/thread-self/ns/ipc")
		if err != nil {
			return err
		}
		defer host.Close()
		// Else the memory ends when its maker, this thread, leaves the namespace.
		if err := os.WriteFile("/proc/sys/kernel/shm_rmid_forced", []byte("0"), 0); err != nil {
			return err
		}
		for name, make := range objects {
			if err := make(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		n, err := enterHere()
		if err != nil {
			return err
		}
		checkEmpty(t)
		if err := makeMemory(); err != nil {
			return err
		}
		if err := n.Renew(false); err != nil {
			return err
		}
		if err := unix.Setns(int(host.Fd()), unix.CLONE_NEWIPC); err != nil {
			return err
		}
		for _, table := range []string{memoryTable, setTable, queueTable} {
			if text, err := os.ReadFile(table); err != nil || bytes.Count(text, []byte("\n")) != 2 {
				t.Errorf("%s of the host: %q, %v", table, text, err)
			}
		}
		return n.queues.unmount() // which lies over the host's
	})
}

// The memory of a job's segments is free when Renew returns.
func TestRenewFreesMemory(t *testing.T) {
	onHost(t, true, func() error {
		n, err := enterHere()
		if err != nil {
			return err
		}
		old, err := os.Open("/proc/thread-self/ns/ipc")
		if err != nil {
			return err
		}
		defer old.Close()
		for range 5 {
			if _, err := unix.SysvShmGet(unix.IPC_PRIVATE, size, forAll); err != nil {
				return err
			}
		}
		if err := n.Renew(false); err != nil {
			return err
		}
		if err := unix.Setns(int(old.Fd()), unix.CLONE_NEWIPC); err != nil {
			return err
		}
		if used, err := hasObjects(memoryTable); err != nil || used {
			t.Errorf("memory is left: %v, %v", used, err)
		}
		return nil
	})
}

// Where the host shows no queues jobs do not either, and those that a job has left are gone.
func TestHostWithoutQueues(t *testing.T) {
	onHost(t, false, func() error {
		n, err := enterHere()
		if err != nil {
			return err
		}
		first := inode(t)
		if err := n.Renew(false); err != nil || inode(t) != first {
			t.Errorf("an unused namespace was replaced: %v", err)
		}
		var mounted unix.Statfs_t
		if err := unix.Statfs(place, &mounted); err != nil || mounted.Type == magic {
			t.Errorf("queues are mounted: %v", err)
		}
		if err := unix.Mount("none", place, "mqueue", 0, ""); err != nil {
			return err
		}
		if err := objects["a POSIX queue"](); err != nil {
			return err
		}
		if err := unix.Unmount(place, 0); err != nil {
			return err
		}
		if err := n.Renew(false); err != nil || inode(t) == first {
			t.Errorf("a queue is left: %v", err)
		}
		return nil
	})
}

// A limit that cannot be given is an error.
func TestReadOnlyLimits(t *testing.T) {
	onHost(t, true, func() error {
		if err := unix.Mount("proc", "/proc", "proc", unix.MS_RDONLY, ""); err != nil {
			return err
		}
		if _, err := enterHere(); !errors.Is(err, unix.EROFS) {
			t.Errorf("%v", err)
		}
		return nil
	})
}

// Check leaves this process as it is.
func TestCheck(t *testing.T) {
	before := inode(t)
	if err := Check(); err != nil && !errors.Is(err, unix.EPERM) {
		t.Error(err)
	}
	if inode(t) != before {
		t.Error("this process has another namespace")
	}
}

// What a job costs that leaves nothing, and one that leaves memory.
func BenchmarkRenew(b *testing.B) {
	for name, leave := range map[string]func() error{"unused": func() error { return nil }, "used": makeMemory} {
		b.Run(name, func(b *testing.B) {
			err := privateshm.Apart(func() error {
				n, err := enterHere()
				if err != nil {
					return err
				}
				for b.Loop() {
					if err := errors.Join(leave(), n.Renew(false)); err != nil {
						return err
					}
				}
				return nil
			})
			if errors.Is(err, unix.EPERM) {
				b.Skip("no namespaces here: ", err)
			} else if err != nil {
				b.Error(err)
			}
		})
	}
}
