package replica

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"score/scored/replica/guard"
	"strings"

	"golang.org/x/sys/unix"
)

// Reasons to refuse a data directory; the wrapping sentence says what to do.
var (
	ErrInUse     = errors.New("data directory in use")
	ErrDirectory = errors.New("data directory")
)

const (
	lockName = "lock"
	// nameName is the file with the name under which the log knows the server.
	nameName = "server"
	// privateMode: the log contains the environments of users' jobs.
	privateMode = 0o700
)

// lockDirectory makes the directory if needed and locks it. The lock ends when the file is closed
// or the process dies.
func lockDirectory(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, privateMode); err != nil {
		return nil, directoryError(dir, "cannot make it", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDirectory, err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("%w %q is open to other users (mode %o); make it private: chmod 700 %s", ErrDirectory, dir, mode, dir)
	}
	file, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, directoryError(dir, "cannot lock it", err)
	}
	if err := takeLock(file, dir); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func takeLock(file *os.File, dir string) error {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		holder, _ := os.ReadFile(file.Name()) // for the error only; may be empty
		return fmt.Errorf("%w: another server%s uses %q; stop it, or give this one another data_dir", ErrInUse, processNote(holder), dir)
	}
	if err != nil {
		return fmt.Errorf("%w: cannot lock %q: %w", ErrDirectory, dir, err)
	}
	if err := file.Truncate(0); err != nil {
		return fmt.Errorf("%w: %w", ErrDirectory, err)
	}
	_, _ = fmt.Fprintf(file, "%d\n", os.Getpid()) // for others' errors only; a full disk may have no room for it
	return nil
}

// directoryError returns what is wrong with the directory, or with its disk.
func directoryError(dir, what string, err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EROFS) {
		return fmt.Errorf("%w: %w", ErrDirectory, guard.Explain(dir, what, err))
	}
	return fmt.Errorf("%w: %s: %w", ErrDirectory, what, err)
}

func processNote(holder []byte) string {
	pid := strings.TrimSpace(string(holder))
	if pid == "" {
		return ""
	}
	return " (process " + pid + ")"
}

// checkName refuses the directory of another server, since votes are stored in it. It reports
// whether the directory is nameless: new, or made by a server of a cluster without certificates.
func checkName(dir, name string, others bool) (nameless bool, err error) {
	path := filepath.Join(dir, nameName)
	data, err := os.ReadFile(path)
	owner := strings.TrimSpace(string(data))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("%w: %w", ErrDirectory, err)
	case !others:
		return false, fmt.Errorf("%w %q is that of server %s of a cluster with certificates; set cluster.certificates", ErrDirectory, dir, owner)
	case owner != name:
		return false, fmt.Errorf("%w %q is that of server %s, and this is %s; set server.name, or choose another data_dir", ErrDirectory, dir, owner, name)
	}
	return false, nil
}

// writeName records the server that owns the directory.
func writeName(dir, name string) error { return writeAtomically(filepath.Join(dir, nameName), name) }
