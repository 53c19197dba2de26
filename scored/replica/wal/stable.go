package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
)

var (
	errStable = errors.New("a value of the stable store is damaged")
	errNumber = errors.New("the value is not a number")
)

// appendValue appends a value of the stable store: the lengths of key and value (4 bytes each), and
// both.
func appendValue(to []byte, key string, value []byte) []byte {
	to = binary.LittleEndian.AppendUint32(to, uint32(len(key)))
	to = binary.LittleEndian.AppendUint32(to, uint32(len(value)))
	to = append(to, key...)
	return append(to, value...)
}

// appendValues appends all values, in the order of their keys.
func appendValues(to []byte, values map[string][]byte) []byte {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		to = appendValue(to, key, values[key])
	}
	return to
}

// decodeValues puts the values of a record into a map.
func decodeValues(payload []byte, into map[string][]byte) error {
	for len(payload) > 0 {
		if len(payload) < 8 {
			return errStable
		}
		key := uint64(binary.LittleEndian.Uint32(payload[0:]))
		end := key + uint64(binary.LittleEndian.Uint32(payload[4:]))
		payload = payload[8:]
		if end > uint64(len(payload)) {
			return errStable
		}
		into[string(payload[:key])] = slices.Clone(payload[key:end])
		payload = payload[end:]
	}
	return nil
}

// Set implements raft.StableStore.
func (l *Log) Set(key, value []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	record := appendValue(l.newRecord(), string(key), value)
	if _, err := l.write(record, stableRecord); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stable[string(key)] = slices.Clone(value)
	return nil
}

// Get implements raft.StableStore. A key that was never set has no value.
func (l *Log) Get(key []byte) ([]byte, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Clone(l.stable[string(key)]), nil
}

// SetUint64 implements raft.StableStore.
func (l *Log) SetUint64(key []byte, value uint64) error {
	return l.Set(key, binary.LittleEndian.AppendUint64(nil, value))
}

// GetUint64 implements raft.StableStore. A key that was never set is 0.
func (l *Log) GetUint64(key []byte) (uint64, error) {
	value, err := l.Get(key)
	switch {
	case err != nil || len(value) == 0:
		return 0, err
	case len(value) != 8:
		return 0, fmt.Errorf("key %q: %w", key, errNumber)
	}
	return binary.LittleEndian.Uint64(value), nil
}
