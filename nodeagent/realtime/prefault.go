package realtime

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Prefault maps the pages of this program's code and constants that are in the page cache, so that
// a process that waits for a job need not take a page fault at each function that it then runs for
// the first time. It is only an optimization, which needs Linux 5.14; errors are ignored.
func Prefault() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for s := bufio.NewScanner(maps); s.Scan(); {
		if from, to, ok := mapping(s.Text(), program); ok {
			populate(from, to)
		}
	}
}

// mapping parses one line of /proc/PID/maps. ok is true for a read-only mapping of the program; the
// others already hold its own pages.
func mapping(line, program string) (from, to uintptr, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[5] != program || strings.Contains(fields[1], "w") {
		return 0, 0, false
	}
	low, high, ok := strings.Cut(fields[0], "-")
	if !ok {
		return 0, 0, false
	}
	a, err := strconv.ParseUint(low, 16, 64)
	if err != nil {
		return 0, 0, false
	}
	b, err := strconv.ParseUint(high, 16, 64)
	if err != nil || b <= a {
		return 0, 0, false
	}
	return uintptr(a), uintptr(b), true
}

// populate maps the pages of a range, which must be from /proc/self/maps. It makes no slice of the
// memory, and only changes page tables.
func populate(from, to uintptr) {
	// Before Linux 5.14 faults map them.
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_POPULATE_READ)
}
