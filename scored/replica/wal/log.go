package wal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hashicorp/raft"
)

// place is where an entry is.
type place struct {
	segment  *segment
	at, size int
}

// Log is a raft.LogStore and a raft.StableStore. Its methods may be called concurrently. After a
// write has failed all later ones fail: only Open can find out what is on disk.
type Log struct {
	dir string

	// writing is held by a writer. It guards the following fields, and the end of the last segment.
	writing sync.Mutex
	buffer  []byte // of records, used again
	broken  error  // of the write that failed

	// mu guards the following fields. A writer changes them after the disk has what they say.
	mu       sync.RWMutex
	segments []*segment // at least one; the last is written
	first    uint64     // index of places[0]
	places   []place    // of the entries
	stable   map[string][]byte
}

var (
	_ raft.LogStore          = (*Log)(nil)
	_ raft.MonotonicLogStore = (*Log)(nil)
	_ raft.StableStore       = (*Log)(nil)
)

// Open reads the log in a directory, or makes both. The caller keeps other processes from it. If a
// file is damaged, Open returns a *DamageError, and changes nothing.
func Open(dir string) (*Log, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	numbers, err := findSegments(dir)
	if err != nil {
		return nil, err
	}
	l := &Log{dir: dir, stable: make(map[string][]byte)}
	if len(numbers) == 0 {
		err = l.begin()
	} else {
		err = l.load(numbers)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// begin makes the first segment of a new log.
func (l *Log) begin() error {
	s, err := createSegment(l.dir, 1, 0, nil, 0)
	if err != nil {
		return err
	}
	l.segments = []*segment{s}
	return SyncDirectory(filepath.Dir(l.dir))
}

// Close waits for the write under way and closes the files.
func (l *Log) Close() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.broken = os.ErrClosed
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, s := range l.segments {
		errs = append(errs, s.file.Close())
	}
	l.segments, l.places = nil, nil
	return errors.Join(errs...)
}

// IsMonotonic implements raft.MonotonicLogStore: entries have consecutive indices.
func (l *Log) IsMonotonic() bool { return true }

// FirstIndex implements raft.LogStore. 0: there are no entries.
func (l *Log) FirstIndex() (uint64, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.places) == 0 {
		return 0, nil
	}
	return l.first, nil
}

// LastIndex implements raft.LogStore. 0: there are no entries.
func (l *Log) LastIndex() (uint64, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.places) == 0 {
		return 0, nil
	}
	return l.next() - 1, nil
}

// next returns the index behind the last entry.
func (l *Log) next() uint64 { return l.first + uint64(len(l.places)) }

// GetLog implements raft.LogStore. The entry is read from its file. GetLog does not verify its
// checksum, which is that of the whole write; its caller has one of each entry.
func (l *Log) GetLog(index uint64, log *raft.Log) error {
	data, err := l.read(index)
	if err == nil {
		_, err = decodeEntry(data, log)
	}
	return err
}

func (l *Log) read(index uint64) ([]byte, error) {
	l.mu.RLock() // held while the file is read: DeleteRange may close it
	defer l.mu.RUnlock()
	if index < l.first || index >= l.next() {
		return nil, raft.ErrLogNotFound
	}
	p := l.places[index-l.first]
	data := make([]byte, p.size)
	if _, err := p.segment.file.ReadAt(data, int64(p.at)); err != nil {
		return nil, err
	}
	return data, nil
}

// StoreLog implements raft.LogStore.
func (l *Log) StoreLog(log *raft.Log) error { return l.StoreLogs([]*raft.Log{log}) }

// StoreLogs implements raft.LogStore. The indices of the entries must be consecutive. If the first
// is not that behind the last entry of the log, StoreLogs replaces the entries from there on; if it
// is beyond, all: Raft has a snapshot then.
func (l *Log) StoreLogs(logs []*raft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	record := l.newRecord()
	for i, log := range logs {
		if log.Index == 0 || log.Index != logs[0].Index+uint64(i) {
			return fmt.Errorf("entry %d: %w", log.Index, errOrder)
		}
		record = appendEntry(record, log)
	}
	at, err := l.write(record, entriesRecord)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.segments[len(l.segments)-1]
	at += recordHead
	for _, log := range logs {
		l.add(log.Index, place{s, at, entrySize(log)})
		at += entrySize(log)
	}
	return nil
}

// add records where an entry is. The entries behind it are replaced; beyond a gap it is the first.
func (l *Log) add(index uint64, p place) {
	if index < l.first || index > l.next() || len(l.places) == 0 {
		l.first, l.places = index, l.places[:0]
	}
	l.places = append(l.places[:index-l.first], p)
}

// maxKeptBuffer is the largest buffer that is used again: that of an ordinary write.
const maxKeptBuffer = 64 << 10

// newRecord returns the buffer for a record, with room for its head.
func (l *Log) newRecord() []byte {
	if cap(l.buffer) > maxKeptBuffer {
		l.buffer = nil
	}
	return append(l.buffer[:0], make([]byte, recordHead)...)
}

// write makes a record durable, and returns its offset in the last segment. Its payload follows
// recordHead bytes.
func (l *Log) write(record []byte, k kind) (at int, err error) {
	if l.broken != nil {
		return 0, l.broken
	}
	s := l.segments[len(l.segments)-1]
	if size := recordSize(len(record) - recordHead); s.end+size > s.size {
		if s, err = l.rotate(s, size); err != nil {
			return 0, l.fail(err)
		}
	}
	at = s.end
	l.buffer = finishRecord(record, s.salt, at, k)
	if err := s.write(l.buffer, at); err != nil {
		return 0, l.fail(err)
	}
	s.end += len(l.buffer)
	return at, nil
}

func (l *Log) fail(err error) error {
	l.broken = fmt.Errorf("an earlier write has failed: %w", err)
	return err
}

// rotate begins a new segment, with room for a record, and removes those without entries.
func (l *Log) rotate(last *segment, room int) (*segment, error) {
	s, err := createSegment(l.dir, last.number+1, last.end, l.stable, room)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments = append(l.segments, s)
	return s, l.removeUnused()
}

// DeleteRange implements raft.LogStore for the beginning and the end of the log. Files whose
// entries are all deleted are removed. The others keep what was deleted: after the next Open it is
// there again, which Raft takes for a deletion that was interrupted.
func (l *Log) DeleteRange(first, last uint64) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.broken != nil {
		return l.broken
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	begin, end := max(first, l.first), min(last+1, l.next())
	switch {
	case begin >= end:
		return nil
	case begin == l.first:
		l.places = slices.Clone(l.places[end-l.first:])
		l.first = end
	case end == l.next():
		l.places = l.places[:begin-l.first]
	default:
		return fmt.Errorf("entries %d to %d are in the middle of the log: %w", first, last, errOrder)
	}
	if err := l.removeUnused(); err != nil {
		return l.fail(err)
	}
	return nil
}

// removeUnused removes the oldest segments that have no entry.
func (l *Log) removeUnused() error {
	oldest := l.segments[len(l.segments)-1]
	if len(l.places) > 0 {
		oldest = l.places[0].segment
	}
	for l.segments[0] != oldest {
		if err := l.segments[0].remove(l.dir); err != nil {
			return err
		}
		l.segments = l.segments[1:]
	}
	return nil
}
