package wal

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	// segmentBytes is the size of a segment, unless one write needs more: some hundred submissions.
	// Writing a new one takes about a millisecond.
	segmentBytes = 1 << 20
	// segmentHead is the size of a segment's head: magic (8 bytes), number, salt, end of the
	// records of the segment before, size of this file (8 each), CRC-32C of these (4), zeros.
	segmentHead  = 48
	segmentSum   = 40 // offset of the checksum
	segmentMagic = "score\x00l\x01"
	// freshSuffix is the suffix of a segment that is not complete. Open removes it.
	freshSuffix = ".new"
)

// segment is an open file of the log.
type segment struct {
	file   *os.File
	number uint64 // segments have consecutive numbers, from 1 on
	salt   uint64 // random; part of all checksums
	before int    // end of the records of the segment before
	size   int
	end    int // of its records
}

func segmentName(number uint64) string { return fmt.Sprintf("%016x", number) }

// encodeHead returns the segment's head.
func (s *segment) encodeHead() []byte {
	head := make([]byte, 0, segmentHead)
	head = append(head, segmentMagic...)
	head = binary.LittleEndian.AppendUint64(head, s.number)
	head = binary.LittleEndian.AppendUint64(head, s.salt)
	head = binary.LittleEndian.AppendUint64(head, uint64(s.before))
	head = binary.LittleEndian.AppendUint64(head, uint64(s.size))
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(head, castagnoli))
	return append(head, make([]byte, segmentHead-len(head))...)
}

var errHead = errors.New("it does not start as a file of the log")

// decodeHead reads the head of a segment from the whole of it.
func (s *segment) decodeHead(data []byte) error {
	if len(data) < segmentHead {
		return errHead
	}
	head := data[:segmentHead]
	sum := crc32.Checksum(head[:segmentSum], castagnoli)
	if string(head[:8]) != segmentMagic || binary.LittleEndian.Uint32(head[segmentSum:]) != sum || !isZero(head[segmentSum+4:]) {
		return errHead
	}
	s.number = binary.LittleEndian.Uint64(head[8:])
	s.salt = binary.LittleEndian.Uint64(head[16:])
	s.before = int(binary.LittleEndian.Uint64(head[24:]))
	s.size = int(binary.LittleEndian.Uint64(head[32:]))
	if len(data) != s.size {
		return fmt.Errorf("it has %d bytes, and needs %d", len(data), s.size)
	}
	return nil
}

// createSegment makes a segment durable that begins with the values of the stable store and has
// room for a record of the given size.
func createSegment(dir string, number uint64, before int, values map[string][]byte, room int) (*segment, error) {
	s := &segment{number: number, salt: newSalt(), before: before, end: segmentHead}
	var first []byte
	if len(values) > 0 {
		record := appendValues(make([]byte, recordHead), values)
		first = finishRecord(record, s.salt, segmentHead, stableRecord)
		s.end += len(first)
	}
	s.size = max(segmentBytes, s.end+room)
	path := filepath.Join(dir, segmentName(number))
	file, err := os.OpenFile(path+freshSuffix, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	// Zeros are written, not only allocated: the file system then has the file's blocks in place,
	// and later writes change nothing but their content.
	data := make([]byte, s.size)
	copy(data, s.encodeHead())
	copy(data[segmentHead:], first)
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync()); err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(path+freshSuffix))
	}
	if err = os.Rename(path+freshSuffix, path); err == nil {
		err = SyncDirectory(dir)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	s.file = file
	return s, nil
}

// remove closes the segment and removes its file. It waits until the directory is on disk, so that
// after a power failure no segment is missing between others.
func (s *segment) remove(dir string) error {
	return errors.Join(s.file.Close(), os.Remove(filepath.Join(dir, segmentName(s.number))), SyncDirectory(dir))
}

func newSalt() uint64 {
	var salt [8]byte
	_, _ = rand.Read(salt[:]) // never fails
	return binary.LittleEndian.Uint64(salt[:])
}

// write makes bytes durable at an offset.
func (s *segment) write(data []byte, at int) error {
	if _, err := s.file.WriteAt(data, int64(at)); err != nil {
		return err
	}
	for {
		err := unix.Fdatasync(int(s.file.Fd()))
		if err != unix.EINTR {
			return err
		}
	}
}

// SyncDirectory makes new and removed file names durable.
func SyncDirectory(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
