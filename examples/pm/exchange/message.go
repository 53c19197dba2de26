package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
)

// headerSize is the size of a message without payload: CRC-32C of all that follows, round with the
// mark of the last, sender and receiver.
const headerSize = 4 + 8 + 4 + 4

// lastMark is set in the round that is the last one.
const lastMark = 1 << 63

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header identifies a message.
type header struct {
	round    uint64
	from, to int
	last     bool
}

// length returns the length of the message, the same for sender and receiver: from the header alone
// to size. Short messages are as frequent as long ones.
func (h header) length(size int) int {
	rng := rand.NewPCG(h.round, uint64(h.from)<<32|uint64(h.to))
	return headerSize + int(rng.Uint64()%uint64(size-headerSize+1))
}

// newNoise returns the bytes from which payloads are cut.
func newNoise(size int) []byte {
	noise := make([]byte, 2*size)
	rng := rand.NewPCG(uint64(size), 1)
	for i := range noise {
		noise[i] = byte(rng.Uint64())
	}
	return noise
}

// message appends the message to out, which is empty.
func message(out, noise []byte, h header, size int) []byte {
	length := h.length(size)
	round := h.round
	if h.last {
		round |= lastMark
	}
	out = append(out, 0, 0, 0, 0)
	out = binary.LittleEndian.AppendUint64(out, round)
	out = binary.LittleEndian.AppendUint32(out, uint32(h.from))
	out = binary.LittleEndian.AppendUint32(out, uint32(h.to))
	start := int(h.round % uint64(size))
	out = append(out, noise[start:start+length-headerSize]...)
	binary.LittleEndian.PutUint32(out, crc32.Checksum(out[4:], castagnoli))
	return out
}

// check compares a message with the expected one, and reports whether its round is the last.
func check(data []byte, want header, size int) (last bool, err error) {
	if len(data) < headerSize {
		return false, fmt.Errorf("%d bytes from rank %d are no message", len(data), want.from)
	}
	if sum := crc32.Checksum(data[4:], castagnoli); sum != binary.LittleEndian.Uint32(data) {
		return false, fmt.Errorf("a message of %d bytes from rank %d, due in round %d, has a wrong checksum", len(data), want.from, want.round)
	}
	round := binary.LittleEndian.Uint64(data[4:])
	last = round&lastMark != 0
	got := header{
		round: round &^ lastMark,
		from:  int(binary.LittleEndian.Uint32(data[12:])),
		to:    int(binary.LittleEndian.Uint32(data[16:])),
	}
	if got != want {
		return false, fmt.Errorf("from rank %d came round %d of rank %d to rank %d, but round %d is due",
			want.from, got.round, got.from, got.to, want.round)
	}
	if want.length(size) != len(data) {
		return false, fmt.Errorf("the message of round %d from rank %d has %d bytes, want %d", want.round, want.from, len(data), want.length(size))
	}
	return last, nil
}
