package wal

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/hashicorp/raft"
)

// entryHead is the size of an entry's head: index, term, time of arrival in Unix nanoseconds (8
// bytes each), type, lengths of the extensions and of the data (4 each). Both follow.
const entryHead = 36

var (
	errEntry = errors.New("an entry is damaged")
	errOrder = errors.New("the indices of its entries are not consecutive")
)

func entrySize(log *raft.Log) int { return entryHead + len(log.Extensions) + len(log.Data) }

func appendEntry(to []byte, log *raft.Log) []byte {
	to = binary.LittleEndian.AppendUint64(to, log.Index)
	to = binary.LittleEndian.AppendUint64(to, log.Term)
	to = binary.LittleEndian.AppendUint64(to, unixNanos(log.AppendedAt))
	to = binary.LittleEndian.AppendUint32(to, uint32(log.Type))
	to = binary.LittleEndian.AppendUint32(to, uint32(len(log.Extensions)))
	to = binary.LittleEndian.AppendUint32(to, uint32(len(log.Data)))
	to = append(to, log.Extensions...)
	return append(to, log.Data...)
}

// unixNanos returns a time as a number; 0: the zero time.
func unixNanos(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixNano())
}

// decodeEntry reads the entry at the start of data, and returns its size. The entry shares the
// memory of data.
func decodeEntry(data []byte, log *raft.Log) (size int, err error) {
	if len(data) < entryHead {
		return 0, errEntry
	}
	*log = raft.Log{
		Index: binary.LittleEndian.Uint64(data[0:]),
		Term:  binary.LittleEndian.Uint64(data[8:]),
		Type:  raft.LogType(data[24]),
	}
	if nanos := binary.LittleEndian.Uint64(data[16:]); nanos != 0 {
		log.AppendedAt = time.Unix(0, int64(nanos))
	}
	extensions := uint64(binary.LittleEndian.Uint32(data[28:]))
	length := extensions + uint64(binary.LittleEndian.Uint32(data[32:]))
	rest := data[entryHead:]
	if length > uint64(len(rest)) {
		return 0, errEntry
	}
	if extensions > 0 {
		log.Extensions = rest[:extensions:extensions]
	}
	if length > extensions {
		log.Data = rest[extensions:length:length]
	}
	return entryHead + int(length), nil
}

// splitEntries calls use for each entry of a record, with its place in the payload.
func splitEntries(payload []byte, use func(index uint64, at, size int)) error {
	var log raft.Log
	next := uint64(0)
	for at := 0; at < len(payload); {
		size, err := decodeEntry(payload[at:], &log)
		if err != nil {
			return err
		}
		if log.Index == 0 || next != 0 && log.Index != next {
			return errOrder
		}
		use(log.Index, at, size)
		next = log.Index + 1
		at += size
	}
	return nil
}
