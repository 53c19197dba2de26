package mpidirs

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"score/nodeagent/launch"
	"score/nodeagent/privateshm"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// maxNames bounds the names that one call reads: any user may make millions of them in
	// /dev/shm, and the ends of others' jobs wait for the call: some ten milliseconds for as many.
	// A host usually has some hundred.
	maxNames = 4096
	// nameBatch is the number of names read at once.
	nameBatch = 256
)

// errNames means that the rest of /dev/shm was not read.
var errNames = fmt.Errorf("more than %d files are in %s; remove those that nobody needs", maxNames, privateshm.Place)

// segment matches the names of shared memory that MPI libraries make in /dev/shm itself: MPICH,
// Open MPI's one-sided and vader components, and UCX. The maker of such a file has it open and then
// mapped for as long as anybody may open it by its name. So a file that no process has open or
// mapped was left by killed processes.
var segment = regexp.MustCompile(
	`^(mpich_shar_tmp[A-Za-z0-9]{6}|(vader_segment|osc_sm|osc_rdma)\.[A-Za-z0-9._-]+|ucx_shm_posix_[0-9a-f]{1,16})$`)

// RemoveSegments removes the shared memory of a user that MPI libraries have left in /dev/shm
// when their processes were killed. What a process of the user has open or mapped stays, and
// so does what has another name: programs keep POSIX shared memory by its name alone.
func RemoveSegments(user *launch.User) error {
	left, incomplete := segmentsOf(user.UID)
	if len(left) == 0 {
		return incomplete // nil in the usual case, after one reading
	}
	if err := dropUsed(left, user.UID); err != nil {
		return err
	}
	return errors.Join(incomplete, launch.AsUser(user, func() error {
		var failed []error
		for name := range left {
			if err := os.Remove(filepath.Join(privateshm.Place, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = append(failed, fmt.Errorf("removing shared memory that a job has left: %w", err))
			}
		}
		return errors.Join(failed...)
	}))
}

// segmentsOf returns the names of a user's segments among the first maxNames. The error is errNames
// if there are more names.
func segmentsOf(uid uint32) (map[string]bool, error) {
	dir, err := os.Open(privateshm.Place)
	if err != nil {
		return nil, nil // the host has no such place
	}
	defer dir.Close()
	found := make(map[string]bool)
	for range maxNames / nameBatch {
		names, err := dir.Readdirnames(nameBatch)
		for _, name := range names {
			if segment.MatchString(name) && isFileOf(int(dir.Fd()), name, uid) {
				found[name] = true
			}
		}
		if err != nil {
			return found, nil // usually the end
		}
	}
	return found, errNames
}

func isFileOf(dir int, name string, uid uint32) bool {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.Uid == uid && st.Mode&unix.S_IFMT == unix.S_IFREG
}

// dropUsed removes from the set the names of files that a process of the user has open or mapped.
func dropUsed(names map[string]bool, uid uint32) error {
	proc, err := os.ReadDir("/proc")
	if err != nil {
		return fmt.Errorf("looking for users of shared memory: %w", err)
	}
	for _, entry := range proc {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			continue // it has just ended
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != uid {
			continue // nobody else can open them
		}
		// In this order: a file is mapped before it is closed.
		dropOpen(names, pid)
		dropMapped(names, pid)
	}
	return nil
}

// dropOpen removes from the set the names of a process's open files. It reads only the names, since
// a stat of the files may hang.
func dropOpen(names map[string]bool, pid int) {
	dir, err := os.Open(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return // it has just ended
	}
	defer dir.Close()
	for {
		numbers, err := dir.Readdirnames(nameBatch)
		for _, number := range numbers {
			if link, err := os.Readlink(filepath.Join(dir.Name(), number)); err == nil {
				delete(names, filepath.Base(link))
			}
		}
		if err != nil {
			return
		}
	}
}

func dropMapped(names map[string]bool, pid int) {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		delete(names, filepath.Base(lines.Text())) // the path ends the line
	}
}
