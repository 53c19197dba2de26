// Package rundir makes the directories in which clusters without a configuration (embedded, scored
// dev) keep their sockets and files, and removes the directories that killed clusters left.
//
// Every directory is locked while its process lives; the kernel drops the lock when the process
// ends. The package is not for daemons, since their directories are configured and stay.
//
//	dir, err := rundir.Make(parent, "embedded", clean)
//	defer dir.Close()
//	socket := filepath.Join(dir.Path(), "user.sock")
package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Dir is a directory that only this process uses, until Close.
type Dir struct {
	path string
	lock *os.File // the directory itself, locked
}

// Make makes a directory kind-NUMBER below parent. Before that it removes the directories of the
// same kind whose processes have ended; for each of these it first calls clean, unless that is nil,
// with the directory's name, to remove the process's other files. In a Dir, use Within.
func Make(parent, kind string, clean func(name string)) (*Dir, error) {
	// Hold this lock until the new directory is locked. Otherwise another process's sweep could
	// take the new directory for an abandoned one.
	parentLock, err := lockNamed(parent)
	if err != nil {
		return nil, err
	}
	defer parentLock.Close()
	if err := sweep(parent, kind, clean); err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp(parent, kind+"-*")
	if err != nil {
		return nil, fmt.Errorf("cannot make a directory for this cluster: %w", err)
	}
	return own(path)
}

// Within makes a directory in this one. It needs no lock of d: no other process makes directories
// there, and this process holds the lock already, so a wait for it would never end.
func (d *Dir) Within(name string) (*Dir, error) {
	path := filepath.Join(d.path, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make a directory for this cluster: %w", err)
	}
	return own(path)
}

// own locks a directory that was just made.
func own(path string) (*Dir, error) {
	held, err := lock(path, unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return &Dir{path: path, lock: held}, nil
}

// lock locks a directory. Closing the file unlocks it.
func lock(path string, how int) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(file.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("cannot lock %s: %w", path, err)
	}
	return file, nil
}

// lockNamed locks the directory with this name. Another process may remove an opened directory and
// make a new one with the name, so lockNamed checks the name after it has the lock.
func lockNamed(path string) (*os.File, error) {
	for {
		file, err := lock(path, unix.LOCK_EX)
		if err != nil {
			return nil, err
		}
		locked, err := file.Stat()
		if err == nil {
			var named os.FileInfo
			if named, err = os.Stat(path); err == nil && os.SameFile(locked, named) {
				return file, nil
			}
		}
		file.Close()
		if err != nil {
			return nil, err
		}
	}
}

func sweep(parent, kind string, clean func(name string)) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		number, ok := strings.CutPrefix(entry.Name(), kind+"-")
		if _, err := strconv.ParseUint(number, 10, 64); !ok || err != nil || !entry.IsDir() {
			continue
		}
		path := filepath.Join(parent, entry.Name())
		held, err := lock(path, unix.LOCK_EX|unix.LOCK_NB)
		if err != nil {
			continue // its process lives
		}
		if clean != nil {
			clean(entry.Name())
		}
		err = os.RemoveAll(path)
		held.Close()
		if err != nil {
			return fmt.Errorf("cannot remove what an earlier cluster left: %w", err)
		}
	}
	return nil
}

// Path returns the directory.
func (d *Dir) Path() string { return d.path }

// Name returns the directory's name, kind-NUMBER.
func (d *Dir) Name() string { return filepath.Base(d.path) }

// Close removes the directory with its contents.
func (d *Dir) Close() error {
	err := os.RemoveAll(d.path)
	d.lock.Close()
	return err
}

// RemoveParent removes the directory in which Make has made directories, if it is empty. It may run
// concurrently with Make, which then finds that the directory does not exist.
func RemoveParent(parent string) error {
	held, err := lockNamed(parent) // else one could be made just then, in another parent of that name
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer held.Close()
	err = os.Remove(parent)
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EBUSY) {
		return nil // there is another, or a file system is mounted there
	}
	return err
}
