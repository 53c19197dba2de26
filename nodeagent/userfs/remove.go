package userfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	// maxDepth bounds the directories that are open at once. Deeper directories are first moved to
	// the top, so that a tree may have any depth.
	maxDepth = 16
	// maxRemoved bounds the names that one call removes, so that it ends even if somebody keeps
	// making new ones: more than a file system of a node has.
	maxRemoved = 1 << 26
	// nameBatch is the number of names read at once.
	nameBatch = 256
	// movedPrefix is the prefix of the names of directories that were moved to the top.
	movedPrefix = ".score-moved-"
)

var errEndless = errors.New("a process keeps making new files in it")

// RemoveAll removes a file, or a directory with its contents, as far as the caller may. A missing
// file is no error. It follows no links, and needs few descriptors at any depth of the tree, and
// memory for one batch of names. It returns the cause when ctx ends.
func RemoveAll(ctx context.Context, path string) error {
	up, err := OpenFile(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return removing(filepath.Dir(path), errors.Unwrap(err))
	}
	defer up.Close()
	t := &tree{ctx: ctx}
	return t.remove(up, filepath.Base(path), 0)
}

// Empty removes the contents of an open directory, like RemoveAll.
func Empty(ctx context.Context, dir *os.File) error {
	t := &tree{ctx: ctx}
	return t.empty(dir, 1)
}

// tree is a directory tree that is being removed. top is the directory that holds it, nil for a
// file.
type tree struct {
	ctx            context.Context
	top            *os.File
	moved, removed int
}

// remove removes the file or directory with a name; at depth 0 this is the whole tree.
func (t *tree) remove(dir *os.File, name string, depth int) error {
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	err := unlink(dir, name)
	if errors.Is(err, unix.ENOTEMPTY) {
		if depth == maxDepth {
			return t.move(dir, name)
		}
		err = t.removeFull(dir, name, depth)
	}
	if err == nil {
		t.removed++
	}
	return err
}

// removeFull removes a directory that is not empty.
func (t *tree) removeFull(dir *os.File, name string, depth int) error {
	child, err := openOwn(dir, name)
	if err != nil {
		return removing(name, err)
	}
	defer child.Close()
	if err := t.empty(child, depth+1); err != nil {
		return err
	}
	return unlink(dir, name)
}

// empty removes the contents of a directory, or moves directories to the top. It skips names that
// cannot be removed, and returns the last error when nothing else is left.
func (t *tree) empty(dir *os.File, depth int) error {
	if depth == 1 {
		t.top = dir
	}
	allow(dir)
	for {
		before := t.removed
		failed := t.pass(dir, depth)
		if t.removed > maxRemoved {
			return errEndless
		}
		if t.removed == before {
			return failed
		}
	}
}

// pass goes through a directory once.
func (t *tree) pass(dir *os.File, depth int) (failed error) {
	if _, err := dir.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for t.removed <= maxRemoved {
		names, err := dir.Readdirnames(nameBatch)
		for _, name := range names {
			if err := t.remove(dir, name, depth); err != nil {
				failed = err
			}
		}
		if errors.Is(err, io.EOF) {
			return failed
		}
		if err != nil {
			return err
		}
	}
	return failed
}

// move gives a directory a name at the top.
func (t *tree) move(dir *os.File, name string) error {
	t.moved++
	t.removed++ // there is something to be done again, at the top
	to := movedPrefix + strconv.Itoa(t.moved)
	from, top := int(dir.Fd()), int(t.top.Fd())
	err := unix.Renameat2(from, name, top, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EACCES) { // its entry for the parent changes, which needs the right to write
		_ = unix.Fchmodat(from, name, ownerAll, 0) // the second attempt meets the cause
		err = unix.Renameat2(from, name, top, to, unix.RENAME_NOREPLACE)
	}
	if errors.Is(err, unix.EEXIST) {
		return nil // the user has a file with this name: the next round tries the next number
	}
	return removing(name, err)
}

// unlink removes a name. The error of a directory that is not empty wraps ENOTEMPTY.
func unlink(dir *os.File, name string) error {
	fd := int(dir.Fd())
	err := unix.Unlinkat(fd, name, 0)
	if errors.Is(err, unix.EISDIR) {
		err = unix.Unlinkat(fd, name, unix.AT_REMOVEDIR)
	}
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return removing(name, err)
}

// ownerAll is the mode that the owner of a directory needs to empty it.
const ownerAll = 0o700

// allow gives the owner the rights that are needed to empty a directory.
func allow(dir *os.File) {
	var st unix.Stat_t
	fd := int(dir.Fd())
	if unix.Fstat(fd, &st) == nil && st.Mode&ownerAll != ownerAll {
		_ = unix.Fchmod(fd, ownerAll) // if this fails, the following calls report the error
	}
}

// openOwn opens a directory for emptying it, even one whose mode denies its owner access.
func openOwn(dir *os.File, name string) (*os.File, error) {
	child, err := openDir(dir, name)
	if errors.Is(err, unix.EACCES) {
		_ = unix.Fchmodat(int(dir.Fd()), name, ownerAll, 0) // the second attempt meets the cause
		child, err = openDir(dir, name)
	}
	return child, err
}

func openDir(dir *os.File, name string) (*os.File, error) {
	fd, err := openBelow(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// removing wraps an error with the name that could not be removed, clipped.
func removing(name string, err error) error {
	if err == nil {
		return nil
	}
	const maxName = 80 // a line of a log
	if len(name) > maxName {
		name = name[:maxName] + "..."
	}
	return fmt.Errorf("removing %q: %w", name, err)
}
