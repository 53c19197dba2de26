package failpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxFile bounds the size of the file.
const maxFile = 64 << 10

// FromEnvironment sets the failpoints that $SCORE_FAILPOINTS lists for the named daemon, until
// stop is called. If the variable names a file, report is called when the file becomes unusable,
// and no failpoint is set. The error wraps ErrList if the list is malformed.
func FromEnvironment(daemon string, report func(error)) (stop func(), err error) {
	value := os.Getenv(Variable)
	if value == "" {
		return func() {}, nil
	}
	if path, ok := strings.CutPrefix(value, "@"); ok {
		return follow(path, daemon, report)
	}
	s, err := parse(value, daemon)
	if err != nil {
		return nil, fmt.Errorf("$%s: %w", Variable, err)
	}
	armed.Store(s)
	return disarm, nil
}

func disarm() { armed.Store(nil) }

// follow sets the failpoints of a file, again whenever it is written or replaced.
func follow(path, daemon string, report func(error)) (stop func(), err error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watching the failpoints' file: %w", err)
	}
	watch := os.NewFile(uintptr(fd), "inotify")
	// Watch the directory, since a replaced file is another inode.
	if _, err := unix.InotifyAddWatch(fd, filepath.Dir(path), unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO|unix.IN_DELETE); err != nil {
		watch.Close()
		return nil, fmt.Errorf("watching the directory of the failpoints' file %s: %w", path, err)
	}
	if err := load(path, daemon); err != nil {
		watch.Close()
		return nil, fmt.Errorf("$%s: %w", Variable, err)
	}
	ended, name := make(chan struct{}), append([]byte(filepath.Base(path)), 0)
	go func() {
		defer close(ended)
		events := make([]byte, 16*(unix.SizeofInotifyEvent+unix.NAME_MAX+1))
		for {
			n, err := watch.Read(events)
			if err != nil {
				return // closed
			}
			if !bytes.Contains(events[:n], name) {
				continue // another file in the directory
			}
			if err := load(path, daemon); err != nil {
				disarm()
				report(err)
			}
		}
	}()
	return func() {
		watch.Close()
		<-ended
		disarm()
	}, nil
}

// load sets what the file lists now, and counts passings from there on.
func load(path, daemon string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		disarm()
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrList, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrList, err)
	}
	s, err := parse(string(text), daemon)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	armed.Store(s)
	return nil
}
