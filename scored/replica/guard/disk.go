package guard

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// ErrDisk is wrapped by every error of a disk that cannot be used any more.
var ErrDisk = errors.New("the disk of the data directory fails")

const (
	// WriteBound is how long a write of the log may take, fsync included. Disks that
	// are busy or wake up take a second or two; a leader that waits for longer keeps
	// the cluster from work that another could do.
	WriteBound = 5 * time.Second
	// SnapshotBound is how long one step of a snapshot may take: it is larger than
	// what the log writes at once, and nobody waits for it.
	SnapshotBound = time.Minute
	// slow is from when on a write is worth a line: the leader's heartbeats go on,
	// but users wait.
	slow = time.Second
	// ticks is in how many parts a bound is waited for. A process that was stopped
	// meanwhile, or a machine that slept, takes that for one part and not for all.
	ticks = 20
)

// Disk records whether the disk of a data directory can be used. It fails once and for good.
type Disk struct {
	dir    string
	logger *zap.Logger
	// writeBound and snapshotBound are the constants but in tests.
	writeBound, snapshotBound time.Duration

	failed chan struct{}
	mu     sync.Mutex
	err    error // set before failed is closed

	writes slowest
}

// NewDisk returns a disk that works. The directory is for messages, and the bound WriteBound but in
// tests of something else.
func NewDisk(dir string, writeBound time.Duration, logger *zap.Logger) *Disk {
	return &Disk{dir: dir, logger: logger, writeBound: writeBound, snapshotBound: SnapshotBound, failed: make(chan struct{})}
}

// Failed is closed when the disk has failed.
func (d *Disk) Failed() <-chan struct{} { return d.failed }

// Err says why the disk cannot be used, in one sentence that wraps ErrDisk, or is nil.
func (d *Disk) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// fail notes the first failure, says it, and returns it.
func (d *Disk) fail(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = err
		close(d.failed)
		d.logger.Error("this server does no more: " + err.Error())
	}
	return d.err
}

// hung is the failure of a step that took longer than its bound.
func (d *Disk) hung(what string, bound time.Duration) error {
	return fmt.Errorf("%w: %s in %q has not ended within %v; look at the disk and at the kernel's log", ErrDisk, what, d.dir, bound)
}

// Explain makes a sentence of an error of a file in the directory.
func (d *Disk) Explain(what string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %s: there is no space left in %q; free some and restart the server: %w", ErrDisk, what, d.dir, err)
	}
	return fmt.Errorf("%w: %s in %q: %w", ErrDisk, what, d.dir, err)
}

// watch fails the disk unless stop is called within the bound.
func (d *Disk) watch(what string, bound time.Duration) (stop func()) {
	w := &watch{disk: d, what: what, bound: bound, left: ticks}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(bound/ticks, w.tick)
	return w.stop
}

// watch is one step of somebody who cannot be made to go on.
type watch struct {
	disk  *Disk
	what  string
	bound time.Duration

	mu    sync.Mutex
	timer *time.Timer
	left  int // 0: over
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
	_ = w.disk.fail(w.disk.hung(w.what, w.bound)) // told by Failed
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = 0
	w.timer.Stop()
}
