// Package hostinfo finds out which CPUs and how much memory of the machine this process may use.
package hostinfo

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// AllowedCPUs returns the CPUs on which this process may run.
func AllowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("reading the allowed CPUs: %w", err)
	}
	cpus := make([]int, 0, set.Count())
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// Memory returns how much memory this process and its children can have: the machine's memory, or
// less if a control group around the process limits it.
func Memory() (uint64, error) {
	total, err := memTotal("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return total, nil // a machine without control groups limits nothing
	}
	return min(total, groupMemory("/sys/fs/cgroup", string(groups))), nil
}

func memTotal(path string) (uint64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("reading the machine's memory: %w", err)
	}
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) == 3 && fields[0] == "MemTotal:" {
			kib, err := strconv.ParseUint(fields[1], 10, 54)
			if err != nil {
				return 0, fmt.Errorf("reading the machine's memory: %w", err)
			}
			return kib << 10, nil
		}
	}
	return 0, errors.New("reading the machine's memory: no MemTotal in " + path)
}

// groupMemory returns the least limit of the control groups in self, which is the text of a
// /proc/self/cgroup. It knows both versions of control groups.
func groupMemory(mount, self string) uint64 {
	smallest := ^uint64(0)
	lines := bufio.NewScanner(strings.NewReader(self))
	for lines.Scan() {
		parts := strings.SplitN(lines.Text(), ":", 3)
		if len(parts) != 3 {
			continue
		}
		root, file := mount, "memory.max"
		if strings.Contains(parts[1], "memory") {
			root, file = filepath.Join(mount, "memory"), "memory.limit_in_bytes"
		} else if parts[0] != "0" {
			continue
		}
		for dir := filepath.Clean("/" + parts[2]); ; dir = filepath.Dir(dir) {
			smallest = min(smallest, readLimit(filepath.Join(root, dir, file)))
			if dir == "/" {
				break
			}
		}
	}
	return smallest
}

// readLimit reads a limit in bytes; "max" and absent files limit nothing.
func readLimit(path string) uint64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return ^uint64(0)
	}
	limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return ^uint64(0)
	}
	return limit
}
