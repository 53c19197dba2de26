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
	"sync"
	"sync/atomic"
	"syscall"

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

// follow sets the failpoints of a file, again whenever it is written or replaced: at once if a
// point is passed then.
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
	raw, err := watch.SyscallConn()
	if err != nil {
		watch.Close()
		return nil, fmt.Errorf("watching the failpoints' file: %w", err)
	}
	f := &file{path: path, daemon: daemon, report: report, watch: raw}
	followed.Store(f)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// The descriptor is closed at the end.
		_ = raw.Read(func(fd uintptr) bool { f.refresh(fd); return false })
	}()
	return func() {
		followed.Store(nil)
		watch.Close()
		<-ended
		disarm()
	}, nil
}

// followed is the file that is followed; nil: none.
var followed atomic.Pointer[file]

// file is a file that lists failpoints.
type file struct {
	path, daemon string
	report       func(error)
	watch        syscall.RawConn // of its directory, without waiting

	mu     sync.Mutex
	events [16 * (unix.SizeofInotifyEvent + unix.NAME_MAX + 1)]byte
}

// settle sets what the file lists now, if it has changed. Otherwise a point could be passed before
// the goroutine that waits for changes has run.
func (f *file) settle() {
	_ = f.watch.Control(f.refresh) // fails once the file is no longer followed
}

// refresh loads the file if its directory tells of a change.
func (f *file) refresh(fd uintptr) {
	if err := f.reload(int(fd)); err != nil {
		f.report(err)
	}
}

func (f *file) reload(fd int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := unix.Read(fd, f.events[:])
	if err != nil || !bytes.Contains(f.events[:n], append([]byte(filepath.Base(f.path)), 0)) {
		return nil //nolint:nilerr // nothing has changed, or another file in the directory
	}
	if err := load(f.path, f.daemon); err != nil {
		disarm()
		return err
	}
	return nil
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
