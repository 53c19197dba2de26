package privateipc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"score/nodeagent/privateshm"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// place is where POSIX message queues are usually mounted, see mq_overview(7).
const place = "/dev/mqueue"

// magic is the type of that file system, MQUEUE_MAGIC in the kernel's ipc/mqueue.c.
const magic = 0x19800202

// tables are the kernel's lists of objects of System V: a heading, and a line for each.
const (
	memoryTable = "/proc/sysvipc/shm"
	setTable    = "/proc/sysvipc/sem"
	queueTable  = "/proc/sysvipc/msg"
)

// Namespace is the IPC namespace of the thread that forks ranks. One goroutine at a time may use
// it.
type Namespace struct {
	// onThread runs a function on that thread.
	onThread func(func() error) error
	// host are the host's limits, and changed those that a new namespace must be given.
	host    limits
	changed []setting
	queues  queues
}

// Check goes through all steps of Enter on a thread that ends afterwards. The error says why jobs
// cannot have an IPC namespace of their own.
func Check() error {
	host, err := readLimits()
	if err != nil {
		return err
	}
	return privateshm.Apart(func() error {
		n, err := enter(host, func(f func() error) error { return f() })
		if err == nil {
			n.queues.close()
		}
		return err
	})
}

// Enter gives the thread on which onThread runs functions an IPC namespace with the host's limits.
// The caller must be in the host's, and in a mount namespace of its own.
func Enter(onThread func(func() error) error) (*Namespace, error) {
	host, err := readLimits()
	if err != nil {
		return nil, err
	}
	return enter(host, onThread)
}

func enter(host limits, onThread func(func() error) error) (*Namespace, error) {
	var mounted unix.Statfs_t
	shown := unix.Statfs(place, &mounted) == nil && mounted.Type == magic
	n := &Namespace{onThread: onThread, host: host, queues: queues{shown: shown}}
	return n, onThread(func() error {
		if err := unshare(); err != nil {
			return err
		}
		usual, err := readLimits()
		if err != nil {
			return err
		}
		n.changed = n.host.differences(&usual)
		return n.setUp()
	})
}

func unshare() error {
	if err := unix.Unshare(unix.CLONE_NEWIPC); err != nil {
		return fmt.Errorf("the kernel refuses an IPC namespace: %w", err)
	}
	return nil
}

// setUp completes a new namespace.
func (n *Namespace) setUp() error {
	if err := writeAll(n.changed); err != nil {
		return err
	}
	return n.queues.mount()
}

// Renew replaces the namespace if anything is in it, or if the job was root's, which may have
// changed its limits. No process that uses it may live. After an error it must not be used again.
func (n *Namespace) Renew(root bool) error {
	return n.onThread(func() error {
		if used, err := n.used(); err != nil || !used && !root { // as after most jobs
			return err
		}
		if err := removeMemory(); err != nil {
			return err
		}
		if err := n.queues.unmount(); err != nil {
			return err
		}
		if err := unshare(); err != nil {
			return err
		}
		return n.setUp()
	})
}

// used reports whether a job has left something.
func (n *Namespace) used() (bool, error) {
	if used, err := n.queues.used(); err != nil || used {
		return used, err
	}
	for _, table := range []string{memoryTable, setTable, queueTable} {
		if used, err := hasObjects(table); err != nil || used {
			return used, err
		}
	}
	return false, nil
}

// hasObjects reports whether a table has more than its heading.
func hasObjects(table string) (bool, error) {
	fd, err := unix.Open(table, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) { // a kernel without System V
		return false, nil
	}
	if err != nil {
		return false, lookError(err)
	}
	defer unix.Close(fd)
	var text [4096]byte // for far more than two lines
	length, err := unix.Read(fd, text[:])
	if err != nil {
		return false, lookError(err)
	}
	return bytes.Count(text[:length], []byte("\n")) > 1, nil
}

func lookError(err error) error { return fmt.Errorf("looking for what a job has left: %w", err) }

// removeMemory frees the segments before the job is over. With the namespace the kernel would free
// them tenths of a second later, while the next job needs their memory.
func removeMemory() error {
	file, err := os.Open(memoryTable)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return lookError(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Scan() // the heading
	for lines.Scan() {
		fields := strings.Fields(lines.Text()) // key, id, and more
		if len(fields) < 2 {
			return fmt.Errorf("%s: unexpected line %q", memoryTable, lines.Text())
		}
		id, err := strconv.Atoi(fields[1])
		if err != nil {
			return fmt.Errorf("%s: %w", memoryTable, err)
		}
		if _, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil); err != nil {
			return fmt.Errorf("freeing the shared memory of a job: %w", err)
		}
	}
	if err := lines.Err(); err != nil {
		return lookError(err)
	}
	return nil
}
