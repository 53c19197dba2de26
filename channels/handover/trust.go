package handover

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// overflowUID is the number by which the kernel shows a user whom this process's user namespace
// does not have (/proc/sys/kernel/overflowuid, which nobody changes).
const overflowUID = 65534

// trusted reports whether the daemon of the user that listens at the path may hand out contexts:
// root and the caller may. A container's user namespace mostly does not have the host's root, who
// looks like every other user then; so the path must be one where no user but its directory's could
// listen.
func trusted(uid uint32, path string) bool {
	if uid == overflowUID && !overflowIsReal() {
		return guarded(path)
	}
	return uid == 0 || int(uid) == os.Geteuid()
}

// overflowIsReal reports whether overflowUID is the host's user of that number.
func overflowIsReal() bool {
	file, err := os.Open("/proc/self/uid_map")
	if err != nil {
		return true
	}
	defer file.Close()
	return mapsItself(file, overflowUID)
}

// mapsItself reports whether the uid_map gives the user the same number inside and outside.
func mapsItself(uidMap io.Reader, uid uint64) bool {
	for lines := bufio.NewScanner(uidMap); lines.Scan(); {
		var inside, outside, count uint64
		if _, err := fmt.Sscan(lines.Text(), &inside, &outside, &count); err != nil {
			return true
		}
		if inside <= uid && uid-inside < count {
			return inside == outside
		}
	}
	return false
}

// guarded reports whether only the owners of the directories that lead to the path can replace what
// is there. Abstract names have no directory.
func guarded(path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		var st unix.Stat_t
		if unix.Lstat(dir, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return false
		}
		writable, sticky := st.Mode&0o022 != 0, st.Mode&unix.S_ISVTX != 0
		if writable && (!sticky || dir == filepath.Dir(path)) {
			return false
		}
		if dir == "/" {
			return true
		}
	}
}
