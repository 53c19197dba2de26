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

// Store is where entries, term and vote are, as raft-boltdb has it.
type Store interface {
	raft.LogStore
	raft.StableStore
	Close() error
}

// Log is a Store whose writes end, by an error if need be, and whose entries carry
// checksums. Its methods may be called concurrently.
type Log struct {
	disk  *Disk
	store Store
	// floor says up to which entry the log may be cut; see Keep.
	floor func() uint64

	turn    chan struct{}     // holds one token while somebody writes
	work    chan func() error // to the goroutine that may hang
	outcome chan error        // of what it did; has room, so that it never waits
	ended   chan struct{}     // it is over
	closing chan struct{}
	once    sync.Once
}

var _ Store = (*Log)(nil)

// NewLog guards a store until Close, which closes it.
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

// write has the other goroutine do it, and waits for it no longer than the bound. An
// error is a failure of the disk.
func (l *Log) write(what string, f func() error) error {
	p := newPatience(l.disk.writeBound)
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
			if p.over() { // the turn is nobody's any more
				return l.disk.fail(l.disk.hung(what, p.bound))
			}
		}
	}
}

// acquireTurn waits until nobody else writes.
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

// writeDeadline is a bound in parts, see ticks.
type writeDeadline struct {
	bound time.Duration
	timer *time.Timer
	left  int
}

func newPatience(bound time.Duration) *writeDeadline {
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

// errInjected is what a failpoint makes of a write.
var errInjected = errors.New("a failpoint failed the write")

// put is write for what must be on the disk, with the failpoints.
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

// StoreLogs implements raft.LogStore. After an error Raft steps down.
func (l *Log) StoreLogs(logs []*raft.Log) error {
	sealed := seal(logs)
	return l.put("writing the log", func() error { return l.store.StoreLogs(sealed) })
}

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

// GetLog implements raft.LogStore. It does not return when the entry is damaged or
// cannot be read, since Raft would end the process in the midst of it: the disk has
// failed, and its owner ends the process in order. That there is no such entry is an
// answer.
func (l *Log) GetLog(index uint64, log *raft.Log) error {
	err := l.Check(index, log)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrLogNotFound):
		return raft.ErrLogNotFound // bare, as Raft compares it
	}
	_ = l.disk.fail(l.disk.Explain("reading the log", err)) // told by Failed
	select {}
}

// Check reads an entry as GetLog does, but returns what is wrong with it.
func (l *Log) Check(index uint64, log *raft.Log) error {
	defer l.disk.watch("reading the log", l.disk.writeBound)()
	*log = raft.Log{} // the store leaves fields that are empty as they were
	err := l.store.GetLog(index, log)
	if err == nil {
		err = unseal(index, log)
	}
	if err != nil {
		return fmt.Errorf("entry %d: %w", index, err)
	}
	return nil
}

// sealBatch is how many entries SealAll writes at once: some MB.
const sealBatch = 1024

// SealAll adds checksums to entries that have none, for logs that were written without them.
func (l *Log) SealAll() error {
	first, err := l.FirstIndex()
	if err != nil {
		return err
	}
	last, err := l.LastIndex()
	if err != nil || last == 0 {
		return err
	}
	batch := make([]*raft.Log, 0, sealBatch)
	for index := first; index <= last; index++ {
		log := new(raft.Log)
		err := l.store.GetLog(index, log)
		if err == nil && len(log.Extensions) == 0 {
			batch = append(batch, log)
		}
		if err != nil && !errors.Is(err, raft.ErrLogNotFound) {
			return fmt.Errorf("entry %d: %w", index, err)
		}
		if len(batch) == cap(batch) || index == last && len(batch) > 0 {
			if err := l.StoreLogs(batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return nil
}

// KeepFrom makes the log keep what follows the entry that floor names, although Raft would
// cut it there: from the snapshot before the last one on, in case the last is damaged.
func (l *Log) KeepFrom(floor func() uint64) { l.floor = floor }

// DeleteRange implements raft.LogStore. Raft cuts the log at its beginning, up to a
// snapshot, or at its end, where another leader's entries come; only the first is
// limited by Keep.
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

// Set implements raft.StableStore. It does not return when the disk has failed, before
// Close: Raft ends the process when it cannot keep its term, in the midst of whatever
// that does, and a vote that is not kept must not be given.
func (l *Log) Set(key, value []byte) error {
	return l.orNever(direct{l}.Set(key, value))
}

// SetUint64 implements raft.StableStore; see Set.
func (l *Log) SetUint64(key []byte, value uint64) error {
	return l.orNever(direct{l}.SetUint64(key, value))
}

// Direct returns the stable store for who makes a new log, before there is a Raft that would
// end the process: its writes return their errors.
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

// Release unblocks the callers of Set. The owner calls it when nothing of Raft can reach
// another server any more, so that Raft can end.
func (l *Log) Release() { l.once.Do(func() { close(l.closing) }) }

// Close closes the store, unless a write hangs in it: then it is left to the end of
// the process.
func (l *Log) Close() error {
	l.Release()
	select {
	case l.turn <- struct{}{}:
	default:
		return nil // that it hangs has been told
	}
	close(l.work)
	<-l.ended
	return l.store.Close()
}
