package wal

import (
	"encoding/binary"
	"hash/crc32"
)

// castagnoli is the polynomial that processors have an instruction for (CRC32C in RFC 3720, section
// B.4).
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// kind is the kind of a record.
type kind byte

const (
	// entriesRecord has entries with consecutive indices. If the first does not follow the last one
	// of the log, it replaces the entries from its index on, or all if there is a gap.
	entriesRecord kind = 1
	// stableRecord has values of the stable store.
	stableRecord kind = 2
)

const (
	// recordHead is the size of a record's head: length of the payload (4 bytes, at least 1),
	// CRC-32C of the payload (4), kind (1), zeros (3), CRC-32C of all this (4). All numbers are
	// little-endian. The head has a checksum of its own, since the length of a record that was
	// interrupted must be known.
	recordHead = 16
	headSum    = 12 // offset of the head's checksum
	// alignment of records: their heads lie in one sector each.
	alignment = 16
)

func align(n int) int { return (n + alignment - 1) &^ (alignment - 1) }

// recordSize returns the size of a record with a payload of n bytes.
func recordSize(n int) int { return align(recordHead + n) }

// finishRecord fills in the head of the record in data, whose payload follows recordHead bytes, and
// returns it with its padding. At is its offset in the segment.
func finishRecord(data []byte, salt uint64, at int, k kind) []byte {
	head, payload := data[:recordHead], data[recordHead:]
	clear(head)
	binary.LittleEndian.PutUint32(head[0:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(head[4:], crc32.Checksum(payload, castagnoli))
	head[8] = byte(k)
	binary.LittleEndian.PutUint32(head[headSum:], checksumHead(head, salt, at))
	return append(data, make([]byte, recordSize(len(payload))-len(data))...)
}

// checksumHead covers a record's head with its place.
func checksumHead(head []byte, salt uint64, at int) uint32 {
	var place [16]byte
	binary.LittleEndian.PutUint64(place[0:], salt)
	binary.LittleEndian.PutUint64(place[8:], uint64(at))
	return crc32.Update(crc32.Checksum(place[:], castagnoli), castagnoli, head[:headSum])
}

// headAt reads the head of the record at an offset of a segment. It reports whether there is one
// that is whole, and whose payload fits.
func headAt(segment []byte, salt uint64, at int) (k kind, length int, ok bool) {
	if at+recordHead > len(segment) {
		return 0, 0, false
	}
	head := segment[at : at+recordHead]
	n := int64(binary.LittleEndian.Uint32(head[0:]))
	if n == 0 || n > int64(len(segment)-at-recordHead) {
		return 0, 0, false
	}
	return kind(head[8]), int(n), binary.LittleEndian.Uint32(head[headSum:]) == checksumHead(head, salt, at)
}

// recordAt returns the record at an offset of a segment, and whether there is one that is whole.
func recordAt(segment []byte, salt uint64, at int) (k kind, payload []byte, ok bool) {
	k, length, ok := headAt(segment, salt, at)
	if !ok {
		return 0, nil, false
	}
	payload = segment[at+recordHead : at+recordHead+length]
	return k, payload, binary.LittleEndian.Uint32(segment[at+4:]) == crc32.Checksum(payload, castagnoli)
}

func isZero(data []byte) bool {
	for _, b := range data {
		if b != 0 {
			return false
		}
	}
	return true
}
