package cgroup

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

var (
	on  = []byte("1")
	off = []byte("0")
)

// Group is the control group of one job on one node.
type Group struct {
	dir    string
	memDir string // v1 memory group, "" if not used
	memory Memory

	pidsV2  bool   // the v2 tree counts processes
	pidsDir string // v1 group that counts them, "" if not used

	dirFD    int // the group's directory, for clone3
	freezeFD int // cgroup.freeze
	frozen   *watch
	cpuFD    int // cpu.stat

	killed atomic.Bool

	mu     sync.Mutex
	closed bool // guarded by mu; the files are closed once
}

var _ Container = (*Group)(nil)

// open opens the files of an existing group.
func (g *Group) open() (err error) {
	g.dirFD, g.freezeFD, g.cpuFD = -1, -1, -1
	defer func() {
		if err != nil {
			g.closeFiles()
		}
	}()
	if g.dirFD, err = openAt(g.dir, "", unix.O_DIRECTORY|unix.O_RDONLY); err != nil {
		return err
	}
	if g.freezeFD, err = openAt(g.dir, "cgroup.freeze", unix.O_WRONLY); err != nil {
		return err
	}
	if g.cpuFD, err = openAt(g.dir, "cpu.stat", unix.O_RDONLY); err != nil {
		return err
	}
	g.frozen, err = newWatch(g.dir, "frozen ")
	return err
}

func openAt(dir, name string, flags int) (int, error) {
	path := filepath.Join(dir, name)
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("opening %s: %w", path, err)
	}
	return fd, nil
}

func (g *Group) closeFiles() {
	for _, fd := range []int{g.dirFD, g.freezeFD, g.cpuFD} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	if g.frozen != nil {
		g.frozen.close()
	}
	g.dirFD, g.freezeFD, g.cpuFD, g.frozen = -1, -1, -1, nil
}

// Dir returns the group's directory in the v2 tree.
func (g *Group) Dir() string { return g.dir }

// FD returns the descriptor of the group's directory, for clone3's CLONE_INTO_CGROUP.
func (g *Group) FD() int { return g.dirFD }

// ID returns the kernel's number of the group, which it also reports for sockets: the inode of the
// group's directory.
func (g *Group) ID() (uint64, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(g.dirFD, &stat); err != nil {
		return 0, fmt.Errorf("looking at %s: %w", g.dir, err)
	}
	return stat.Ino, nil
}

// Started does nothing: the kernel knows a group's processes.
func (g *Group) Started(int, int) {}

// Freeze orders the kernel to stop all processes: one pwrite.
func (g *Group) Freeze() error { return g.writeFreeze(on) }

// Thaw lets all processes run again: one pwrite.
func (g *Group) Thaw() error { return g.writeFreeze(off) }

func (g *Group) writeFreeze(state []byte) error {
	if _, err := unix.Pwrite(g.freezeFD, state, 0); err != nil {
		return fmt.Errorf("writing %s/cgroup.freeze: %w", g.dir, err)
	}
	return nil
}

// FreezeOrdered reports whether Freeze was the last order, by this process or an earlier one.
func (g *Group) FreezeOrdered() (bool, error) {
	text, err := readFile(g.dir, "cgroup.freeze")
	return strings.TrimSpace(text) == "1", err
}

// WaitFrozen waits until the kernel reports that all processes are stopped;
// with the zero deadline it only checks. It allocates nothing unless the
// deadline passes.
func (g *Group) WaitFrozen(deadline time.Time) error {
	ok, err := g.frozen.waitFor('1', deadline)
	if err != nil {
		return fmt.Errorf("%s: %w", g.dir, err)
	}
	switch {
	case ok:
		return nil
	case deadline.IsZero():
		return ErrNotFrozen
	default:
		return fmt.Errorf("%s: %w", g.dir, ErrNotFrozen)
	}
}

// Kill ends every process of the group and of the groups below it, and waits
// until none is left.
func (g *Group) Kill(deadline time.Time) error {
	if err := g.kill(deadline); !vanished(err) {
		return err
	}
	return nil // the group was removed, so its processes have ended
}

func (g *Group) kill(deadline time.Time) error {
	populated, err := newWatch(g.dir, "populated ")
	if err != nil {
		return err
	}
	defer populated.close()
	if populated, err := populated.is('1'); err != nil {
		return fmt.Errorf("%s: %w", g.dir, err)
	} else if !populated {
		return nil
	}
	g.killed.Store(true)
	if err := g.sendKill(); err != nil {
		return err
	}
	ok, err := g.awaitEnd(populated, deadline)
	if err != nil {
		return fmt.Errorf("%s: %w", g.dir, err)
	}
	if ok {
		return nil
	}
	pids, _ := g.Pids(nil)
	return fmt.Errorf("%s: %w: %v", g.dir, ErrNotEmpty, pids)
}

// awaitEnd waits until all killed processes have ended.
func (g *Group) awaitEnd(populated *watch, deadline time.Time) (bool, error) {
	tracers := AwaitTracers()
	for wait := hurryAfter; ; wait = hurryRest {
		if ok, err := populated.waitFor('0', earlier(deadline, wait)); ok || err != nil || !time.Now().Before(deadline) {
			return ok, err
		}
		g.hurry()
		ok, err := populated.waitFor('0', earlier(deadline, hurryFor))
		if ok || err != nil {
			return ok, err
		}
		g.calm()
		tracers.End(g.threads)
	}
}

// earlier returns the deadline, or the end of the wait if that comes first.
func earlier(deadline time.Time, wait time.Duration) time.Time {
	if end := time.Now().Add(wait); end.Before(deadline) {
		return end
	}
	return deadline
}

// Killed reports whether Kill has found processes. Such a group must not be used again: Linux since
// 6.14 compares a group's number of kills with the number of the forking thread's own group, and so
// kills every process that is later forked into it by CLONE_INTO_CGROUP.
func (g *Group) Killed() bool { return g.killed.Load() }

// sendKill kills all processes by cgroup.kill. Before Linux 5.14, which lacks it, sendKill freezes
// the group, so that no process forks, and kills the processes one by one; SIGKILL also ends a
// frozen process.
func (g *Group) sendKill() error {
	err := writeFile(g.dir, "cgroup.kill", "1")
	if !errors.Is(err, unix.ENOENT) {
		return err
	}
	if err := writeFile(g.dir, "cgroup.freeze", "1"); err != nil {
		return err
	}
	return killMembers(g.dir)
}

// Pids appends the processes of the group itself, without groups below it.
func (g *Group) Pids(pids []int) ([]int, error) {
	found, err := processesIn(g.dir)
	return append(pids, found...), err
}

func processesIn(dir string) ([]int, error) { return numbersIn(dir, "cgroup.procs") }

// numbersIn reads a file with a number in each line.
func numbersIn(dir, name string) (numbers []int, err error) {
	text, err := readFile(dir, name)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		n, err := strconv.Atoi(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return numbers, fmt.Errorf("%s/%s: %w", dir, name, err)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// CPUTime returns usage_usec of cpu.stat: the user and system time of all processes that ever were
// in the group, to the microsecond.
func (g *Group) CPUTime() (time.Duration, error) {
	var buf [cpuStatBytes]byte
	n, err := unix.Pread(g.cpuFD, buf[:], 0)
	if err != nil {
		return 0, fmt.Errorf("reading %s/cpu.stat: %w", g.dir, err)
	}
	usec, ok := field(buf[:n], "usage_usec ")
	if !ok {
		return 0, fmt.Errorf("%s/cpu.stat has no usage_usec", g.dir)
	}
	return time.Duration(usec) * time.Microsecond, nil
}

// cpuStatBytes holds the start of cpu.stat; usage_usec is its first line.
const cpuStatBytes = 128

// Close kills the remaining processes, closes the files and removes the group. After an error it
// can be called again. Another process may remove the group meanwhile.
func (g *Group) Close(deadline time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	if err := g.Kill(deadline); err != nil && !vanished(err) {
		return err
	}
	if err := removeTree(g.dir, deadline); err != nil {
		return err
	}
	for _, dir := range g.ThreadDirs() {
		if err := removeTree(dir, deadline); err != nil {
			return err
		}
	}
	g.closed = true
	g.closeFiles()
	return nil
}

// Release closes the files without touching the group and its processes. It is for an agent that
// stops while its stewards go on.
func (g *Group) Release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	g.closed = true
	g.closeFiles()
}
