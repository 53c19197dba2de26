package guard

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// ErrDisk is wrapped by every error of a disk that has failed.
var ErrDisk = errors.New("the disk of the data directory fails")

const (
	// WriteBound is how long a write of the log may take, including fsync. Busy disks, and disks
	// that spin up, take a second or two. A leader that waited longer would keep the cluster from
	// work that another leader could do.
	WriteBound = 5 * time.Second
	// SnapshotBound is how long one step of a snapshot may take: it writes more at once than the
	// log does, and nobody waits for it.
	SnapshotBound = time.Minute
	// slow is the duration from which on a write is logged: the leader keeps its lead, but users
	// wait.
	slow = time.Second
	// ticks is the number of parts in which a bound is waited for. If the process was stopped or
	// the machine slept meanwhile, that counts as one part only.
	ticks = 20
)

// Disk records whether the disk of a data directory works. It fails once and for good.
type Disk struct {
	dir    string
	logger *zap.Logger
	// writeBound and snapshotBound are the constants, except in tests.
	writeBound, snapshotBound time.Duration

	failed chan struct{}
	mu     sync.Mutex
	err    error // set before failed is closed

	writes slowest
}

// NewDisk returns a working disk. Dir is for messages; writeBound is WriteBound, except in tests.
func NewDisk(dir string, writeBound time.Duration, logger *zap.Logger) *Disk {
	return &Disk{dir: dir, logger: logger, writeBound: writeBound, snapshotBound: SnapshotBound, failed: make(chan struct{})}
}

// Failed is closed when the disk has failed.
func (d *Disk) Failed() <-chan struct{} { return d.failed }

// Err returns why the disk has failed, a sentence that wraps ErrDisk, or nil.
func (d *Disk) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// fail records and logs the first failure, and returns it.
func (d *Disk) fail(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = err
		close(d.failed)
		d.logger.Error("this server stops: " + err.Error())
	}
	return d.err
}

// hung returns the error of a step that exceeded its bound.
func (d *Disk) hung(what string, bound time.Duration) error {
	return fmt.Errorf("%w: %s in %q has not ended within %v; look at the disk and at the kernel's log", ErrDisk, what, d.dir, bound)
}

// Explain returns a file's error as a sentence.
func (d *Disk) Explain(what string, err error) error { return Explain(d.dir, what, err) }

// Explain returns the error of a file of a data directory as a sentence. It wraps ErrDisk.
func Explain(dir, what string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %s: there is no space left in %q; free some and restart the server: %w", ErrDisk, what, dir, err)
	}
	if errors.Is(err, syscall.EROFS) {
		return fmt.Errorf(
			"%w: %s: the file system of %q is read-only; see the kernel's log, check the file system, and mount it for writing: %w",
			ErrDisk, what, dir, err,
		)
	}
	return fmt.Errorf("%w: %s in %q: %w", ErrDisk, what, dir, err)
}

// watch fails the disk unless stop is called within the bound.
func (d *Disk) watch(what string, bound time.Duration) (stop func()) {
	w := &watch{disk: d, what: what, bound: bound, left: ticks}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(bound/ticks, w.tick)
	return w.stop
}

// watch bounds a step that cannot be interrupted.
type watch struct {
	disk  *Disk
	what  string
	bound time.Duration

	mu    sync.Mutex
	timer *time.Timer
	left  int // 0: the step has ended
}

func (w *watch) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left == 0 {
		return
	}
	if w.left--; w.left > 0 {
		w.timer.Reset(w.bound / ticks)
		return
	}
	_ = w.disk.fail(w.disk.hung(w.what, w.bound)) // reported by Failed
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = 0
	w.timer.Stop()
}
