package wal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrDamaged is wrapped by Open's error for a file that is damaged.
var ErrDamaged = errors.New("the log is damaged")

// DamageError is an ErrDamaged with the file.
type DamageError struct {
	Path string
	Why  string
}

func (e *DamageError) Error() string { return fmt.Sprintf("%v: %s: %s", ErrDamaged, e.Path, e.Why) }

// Unwrap returns ErrDamaged.
func (e *DamageError) Unwrap() error { return ErrDamaged }

// sector is the unit that disks write whole or not at all.
const sector = 512

// findSegments returns the numbers of the segments in order, and removes those that are not
// complete.
func findSegments(dir string) (numbers []uint64, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		path := filepath.Join(dir, file.Name())
		if strings.HasSuffix(file.Name(), freshSuffix) {
			if err := os.Remove(path); err != nil {
				return nil, err
			}
			continue
		}
		number, err := strconv.ParseUint(file.Name(), 16, 64)
		if err != nil || file.Name() != segmentName(number) {
			return nil, &DamageError{path, "it is not a file of the log"}
		}
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	for i, number := range numbers {
		if want := numbers[0] + uint64(i); number != want {
			return nil, &DamageError{filepath.Join(dir, segmentName(want)), "it is missing"}
		}
	}
	return numbers, nil
}

// load reads all segments.
func (l *Log) load(numbers []uint64) error {
	for _, number := range numbers {
		path := filepath.Join(l.dir, segmentName(number))
		last := number == numbers[len(numbers)-1]
		s, data, err := openSegment(path, last)
		if err != nil {
			return err
		}
		l.segments = append(l.segments, s)
		if err := l.replay(path, s, data, last); err != nil {
			return err
		}
	}
	return nil
}

// openSegment reads a segment and its head.
func openSegment(path string, last bool) (*segment, []byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &DamageError{path, "it is not a regular file"}
	}
	mode := os.O_RDONLY
	if last {
		mode = os.O_RDWR
	}
	file, err := os.OpenFile(path, mode, 0)
	if err != nil {
		return nil, nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	s := &segment{file: file}
	if err := s.decodeHead(data); err != nil {
		return nil, nil, errors.Join(&DamageError{path, err.Error()}, file.Close())
	}
	if filepath.Base(path) != segmentName(s.number) {
		return nil, nil, errors.Join(&DamageError{path, "it is another file of the log"}, file.Close())
	}
	return s, data, nil
}

// replay applies the records of a segment, and checks what follows them.
func (l *Log) replay(path string, s *segment, data []byte, last bool) error {
	if count := len(l.segments); count > 1 && l.segments[count-2].end != s.before {
		earlier := filepath.Join(l.dir, segmentName(s.number-1))
		return &DamageError{earlier, fmt.Sprintf("a record at %d is damaged", l.segments[count-2].end)}
	}
	s.end = segmentHead
	for {
		k, payload, ok := recordAt(data, s.salt, s.end)
		if !ok {
			break
		}
		if err := l.apply(s, k, payload); err != nil {
			return &DamageError{path, fmt.Sprintf("the record at %d: %v", s.end, err)}
		}
		s.end = min(s.end+recordSize(len(payload)), s.size)
	}
	if !last {
		return nil // the next segment knows where this one ends
	}
	torn, err := isTorn(data, s.salt, s.end)
	if err != nil {
		return &DamageError{path, err.Error()}
	}
	if torn {
		// Later searches for the end must not find these bytes.
		return s.write(make([]byte, len(data)-s.end), s.end)
	}
	return nil
}

var errKind = errors.New("its kind is unknown")

// apply makes the state of the log that of after a record.
func (l *Log) apply(s *segment, k kind, payload []byte) error {
	switch k {
	case stableRecord:
		return decodeValues(payload, l.stable)
	case entriesRecord:
		start := s.end + recordHead
		return splitEntries(payload, func(index uint64, at, size int) {
			l.add(index, place{s, start + at, size})
		})
	default:
		return errKind
	}
}

// isTorn reports whether the bytes behind the last record are of a write that was interrupted;
// false: there are none. If they are neither, it returns how they are damaged.
func isTorn(data []byte, salt uint64, end int) (bool, error) {
	if isZero(data[end:]) {
		return false, nil
	}
	for at := end + alignment; at+recordHead <= len(data); at += alignment {
		if _, _, ok := recordAt(data, salt, at); ok {
			return false, fmt.Errorf("a record at %d is damaged, and one at %d is not", end, at)
		}
	}
	if !lacksSector(data, salt, end) {
		return false, fmt.Errorf("the record at %d is damaged", end)
	}
	return true, nil
}

// lacksSector reports whether a sector of the record at an offset, or the record's part of a
// sector, was not written.
func lacksSector(data []byte, salt uint64, at int) bool {
	if at+recordHead > len(data) {
		return false
	}
	next := nextSector(at)
	if isZero(data[at : at+recordHead]) {
		return isZero(data[at:min(next, len(data))])
	}
	_, length, ok := headAt(data, salt, at)
	if !ok {
		return false
	}
	for end := at + recordHead + length; at < end; at, next = next, nextSector(next) {
		if isZero(data[at:min(next, end)]) {
			return true
		}
	}
	return false
}

func nextSector(at int) int { return at/sector*sector + sector }
