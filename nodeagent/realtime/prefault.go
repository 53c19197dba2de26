package realtime

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Prefault maps the pages of this program's own code and constants that are in
// the page cache, so that a process which waits for its one job does not take a
// page fault at every function it then runs for the first time. It is only an
// optimization: kernels before 5.14 cannot do it, and no error is returned.
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

// mapping reads one line of /proc/PID/maps; ok is true for a mapping of the
// program that it cannot write to, since the others hold its own pages already.
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

// populate leaves the slice of memory out of it: the range is the kernel's own
// word about this process, and only its page tables are changed.
func populate(from, to uintptr) {
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_POPULATE_READ)
}
