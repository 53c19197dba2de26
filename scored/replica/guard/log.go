package guard

import (
	"errors"
	"fmt"
	"score/scored/failpoint"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"
)

// Store keeps entries, term and vote, as wal.Log does.
type Store interface {
	raft.MonotonicLogStore
	raft.LogStore
	raft.StableStore
	Close() error
}

// Log is a Store with bounded writes and checksummed entries. Its methods may be called
// concurrently.
type Log struct {
	disk  *Disk
	store Store
	// floor returns the entry up to which the log may be cut; see KeepFrom.
	floor func() uint64

	turn    chan struct{}     // holds one token while a goroutine writes
	work    chan func() error // to the goroutine that may hang
	outcome chan error        // of the work; buffered, so that sending never blocks
	ended   chan struct{}     // closed by Close
	closing chan struct{}
	once    sync.Once
}

var _ Store = (*Log)(nil)

// NewLog guards a store until Close, which closes the store too.
func NewLog(disk *Disk, store Store) *Log {
	l := &Log{
		disk: disk, store: store,
		turn: make(chan struct{}, 1), work: make(chan func() error), outcome: make(chan error, 1),
		ended: make(chan struct{}), closing: make(chan struct{}),
	}
	go func() {
		defer close(l.ended)
		for f := range l.work {
			l.outcome <- f()
		}
	}()
	return l
}

// write runs f on the other goroutine, and waits for it at most for the bound. An error is a
// failure of the disk.
func (l *Log) write(what string, f func() error) error {
	p := newWriteDeadline(l.disk.writeBound)
	defer p.end()
	if err := l.acquireTurn(what, p); err != nil {
		return err
	}
	start := time.Now()
	l.work <- f
	for {
		select {
		case err := <-l.outcome:
			<-l.turn
			l.logSlow(what, time.Since(start))
			if err != nil {
				return l.disk.fail(l.disk.Explain(what, err))
			}
			return nil
		case <-p.timer.C:
			if p.over() { // the turn is never given back
				return l.disk.fail(l.disk.hung(what, p.bound))
			}
		}
	}
}

// acquireTurn waits until no other goroutine writes.
func (l *Log) acquireTurn(what string, p *writeDeadline) error {
	for {
		select {
		case <-l.disk.failed:
			return l.disk.Err()
		case l.turn <- struct{}{}:
			if err := l.disk.Err(); err != nil {
				<-l.turn
				return err
			}
			return nil
		case <-p.timer.C:
			if p.over() {
				return l.disk.fail(l.disk.hung(what, p.bound))
			}
		}
	}
}

// writeDeadline waits for a bound in parts, see ticks.
type writeDeadline struct {
	bound time.Duration
	timer *time.Timer
	left  int
}

func newWriteDeadline(bound time.Duration) *writeDeadline {
	return &writeDeadline{bound: bound, timer: time.NewTimer(bound / ticks), left: ticks}
}

// over counts a part that has passed, and reports whether it was the last.
func (p *writeDeadline) over() bool {
	if p.left--; p.left == 0 {
		return true
	}
	p.timer.Reset(p.bound / ticks)
	return false
}

func (p *writeDeadline) end() { p.timer.Stop() }

func (l *Log) logSlow(what string, took time.Duration) {
	l.disk.writes.add(time.Now(), took)
	if took >= slow {
		l.disk.logger.Warn("the disk is slow", zap.String("step", what), zap.Duration("took", took))
	}
}

// errInjected is the error of a write that a failpoint fails.
var errInjected = errors.New("a failpoint failed the write")

// put is like write, for data that must become durable, with failpoints.
func (l *Log) put(what string, f func() error) error {
	return l.write(what, func() error {
		if failpoint.Hit(failpoint.LogStore) != nil {
			return errInjected
		}
		if err := f(); err != nil {
			return err
		}
		return failpoint.Hit(failpoint.LogStored) // cannot fail
	})
}

// StoreLog implements raft.LogStore.
func (l *Log) StoreLog(log *raft.Log) error { return l.StoreLogs([]*raft.Log{log}) }

// StoreLogs implements raft.LogStore. On an error Raft steps down.
func (l *Log) StoreLogs(logs []*raft.Log) error {
	sealed := seal(logs)
	return l.put("writing the log", func() error { return l.store.StoreLogs(sealed) })
}

// IsMonotonic implements raft.MonotonicLogStore.
func (l *Log) IsMonotonic() bool { return l.store.IsMonotonic() }

// FirstIndex implements raft.LogStore.
func (l *Log) FirstIndex() (uint64, error) {
	defer l.disk.watch("reading the log", l.disk.writeBound)()
	return l.store.FirstIndex()
}

// LastIndex implements raft.LogStore.
func (l *Log) LastIndex() (uint64, error) {
	defer l.disk.watch("reading the log", l.disk.writeBound)()
	return l.store.LastIndex()
}

// GetLog implements raft.LogStore. If the entry is damaged or cannot be read, GetLog does not
// return, since Raft would end the process at once: the disk has failed, and its owner ends the
// process in order. A missing entry is no failure.
func (l *Log) GetLog(index uint64, log *raft.Log) error {
	err := l.Check(index, log)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrLogNotFound):
		return raft.ErrLogNotFound // not wrapped: Raft compares it
	}
	_ = l.disk.fail(l.disk.Explain("reading the log", err)) // reported by Failed
	select {}
}

// Check reads an entry as GetLog does, but returns its errors.
func (l *Log) Check(index uint64, log *raft.Log) error {
	defer l.disk.watch("reading the log", l.disk.writeBound)()
	*log = raft.Log{} // the store does not reset empty fields
	err := l.store.GetLog(index, log)
	if err == nil {
		err = Unseal(index, log)
	}
	if err != nil {
		return fmt.Errorf("entry %d: %w", index, err)
	}
	return nil
}

// KeepFrom keeps the entries after the one that floor returns, even if Raft cuts the log there:
// those after the last but one snapshot, in case the last is damaged.
func (l *Log) KeepFrom(floor func() uint64) { l.floor = floor }

// DeleteRange implements raft.LogStore. Raft cuts the beginning of the log after a snapshot, and
// its end when another leader's entries replace it. KeepFrom applies only to the former.
func (l *Log) DeleteRange(first, last uint64) error {
	end, err := l.LastIndex()
	if err != nil {
		return l.disk.fail(l.disk.Explain("reading the log", err))
	}
	if l.floor != nil && last < end {
		last = min(last, l.floor())
	}
	if first > last {
		return nil
	}
	return l.put("cutting the log", func() error { return l.store.DeleteRange(first, last) })
}

// Set implements raft.StableStore. After the disk has failed it does not return before Close: Raft
// would end the process at once if it could not store its term, and must not give a vote that is
// not stored.
func (l *Log) Set(key, value []byte) error {
	return l.orNever(direct{l}.Set(key, value))
}

// SetUint64 implements raft.StableStore; see Set.
func (l *Log) SetUint64(key []byte, value uint64) error {
	return l.orNever(direct{l}.SetUint64(key, value))
}

// Direct returns a stable store for making a new log, before Raft runs: its writes return their
// errors.
func (l *Log) Direct() raft.StableStore { return direct{l} }

type direct struct{ *Log }

func (d direct) Set(key, value []byte) error {
	return d.put("writing term and vote", func() error { return d.store.Set(key, value) })
}

func (d direct) SetUint64(key []byte, value uint64) error {
	return d.put("writing term and vote", func() error { return d.store.SetUint64(key, value) })
}

func (l *Log) orNever(err error) error {
	if err != nil {
		<-l.closing
	}
	return nil
}

// Get implements raft.StableStore.
func (l *Log) Get(key []byte) ([]byte, error) {
	defer l.disk.watch("reading the vote", l.disk.writeBound)()
	return l.store.Get(key)
}

// GetUint64 implements raft.StableStore.
func (l *Log) GetUint64(key []byte) (uint64, error) {
	defer l.disk.watch("reading the term", l.disk.writeBound)()
	return l.store.GetUint64(key)
}

// Release unblocks the callers of Set, so that Raft can stop. The owner calls it once Raft cannot
// reach other servers any more.
func (l *Log) Release() { l.once.Do(func() { close(l.closing) }) }

// Close closes the store. If a write hangs in it, the store is left to the end of the process.
func (l *Log) Close() error {
	l.Release()
	select {
	case l.turn <- struct{}{}:
	default:
		return nil // the hanging write was reported
	}
	close(l.work)
	<-l.ended
	return l.store.Close()
}
