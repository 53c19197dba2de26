package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// MinMemoryLimit is the smallest memory limit: below it not even a shell starts, and the user would
// see a kill without a reason.
const MinMemoryLimit = 1 << 20

// OOM counts the effects of the memory limit so far.
type OOM struct {
	// Kills counts processes that the kernel killed for lack of memory.
	Kills uint64
}

// LimitMemory bounds the memory of all processes of the group together, including swap. With v2 the
// kernel kills all of them at an excess; with v1 it kills one, and the caller must kill the rest.
// With v1 only processes of a thread in ThreadDirs are counted.
func (g *Group) LimitMemory(bytes int64) error {
	if bytes < MinMemoryLimit {
		return fmt.Errorf("a memory limit of %d bytes is too small, the least is %d", bytes, MinMemoryLimit)
	}
	limit := strconv.FormatInt(bytes, 10)
	switch g.memory {
	case MemoryV2:
		return g.limitV2(limit)
	case MemoryV1:
		return g.limitV1(limit)
	default:
		return ErrNoMemoryControl
	}
}

func (g *Group) limitV2(limit string) error {
	if err := writeFile(g.dir, "memory.max", limit); err != nil {
		return err
	}
	if err := writeFile(g.dir, "memory.oom.group", "1"); err != nil {
		return err
	}
	return ifThere(writeFile(g.dir, "memory.swap.max", "0"))
}

// UnlimitMemory removes the limit.
func (g *Group) UnlimitMemory() error {
	switch g.memory {
	case MemoryV2:
		if err := writeFile(g.dir, "memory.max", "max"); err != nil {
			return err
		}
		if err := writeFile(g.dir, "memory.oom.group", "0"); err != nil {
			return err
		}
		return ifThere(writeFile(g.dir, "memory.swap.max", "max"))
	case MemoryV1:
		if err := ifThere(writeFile(g.memDir, "memory.memsw.limit_in_bytes", "-1")); err != nil {
			return err
		}
		return writeFile(g.memDir, "memory.limit_in_bytes", "-1")
	default:
		return ErrNoMemoryControl
	}
}

// MemoryUsed returns the memory that is now charged to the group, in bytes. For a group without
// processes this is files in memory, the page cache, and up to a quarter of a MiB for each CPU,
// which the kernel charges in advance.
func (g *Group) MemoryUsed() (uint64, error) {
	switch g.memory {
	case MemoryV2:
		return readNumber(g.dir, "memory.current")
	case MemoryV1:
		return readNumber(g.memDir, "memory.usage_in_bytes")
	default:
		return 0, ErrNoMemoryControl
	}
}

// limitV1 sets memory and memory+swap to the same limit. The second may never be below the first,
// so it is raised first.
func (g *Group) limitV1(limit string) error {
	if err := ifThere(writeFile(g.memDir, "memory.memsw.limit_in_bytes", "-1")); err != nil {
		return err
	}
	if err := writeFile(g.memDir, "memory.limit_in_bytes", limit); err != nil {
		return err
	}
	return ifThere(writeFile(g.memDir, "memory.memsw.limit_in_bytes", limit))
}

// ifThere ignores the error of a missing file: without swap accounting swap cannot be bounded.
func ifThere(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// MemoryDir returns the v1 memory group, or "". See ThreadDirs.
func (g *Group) MemoryDir() string { return g.memDir }

// OOM returns the counter of the memory limit. A rank that died by SIGKILL while Kills grew was
// killed for lack of memory.
func (g *Group) OOM() (OOM, error) {
	dir, name := g.dir, "memory.events"
	switch g.memory {
	case MemoryV2:
	case MemoryV1:
		// memory.failcnt is useless: recent kernels leave it at zero even when they kill.
		dir, name = g.memDir, "memory.oom_control"
	default:
		return OOM{}, ErrNoMemoryControl
	}
	text, err := readFile(dir, name)
	if err != nil {
		return OOM{}, err
	}
	return parseOOM(text), nil
}

func parseOOM(text string) OOM {
	kills, _ := field([]byte(text), "oom_kill ")
	return OOM{Kills: kills}
}

func readNumber(dir, name string) (uint64, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return 0, fmt.Errorf("reading a group: %w", err)
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}
