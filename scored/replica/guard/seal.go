package guard

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/hashicorp/raft"
)

// castagnoli is the polynomial for which processors have an instruction (RFC 3720,
// section B.4, calls it CRC32C).
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealSize is the length of a checksum.
const sealSize = 4

var (
	errNoSeal  = errors.New("it has no checksum")
	errSeal    = errors.New("its checksum is another one")
	errAnother = errors.New("it is another entry")
)

// seal returns copies of entries that carry a checksum, where Raft leaves room for what
// middleware adds. The entries themselves belong to Raft.
func seal(logs []*raft.Log) []*raft.Log {
	sums := make([]byte, sealSize*len(logs))
	copies := make([]raft.Log, len(logs))
	sealed := make([]*raft.Log, len(logs))
	for i, log := range logs {
		sum := sums[sealSize*i : sealSize*(i+1) : sealSize*(i+1)]
		binary.LittleEndian.PutUint32(sum, checksum(log))
		copies[i], sealed[i] = *log, &copies[i]
		copies[i].Extensions = sum
	}
	return sealed
}

// unseal compares the checksum and takes it away.
func unseal(index uint64, log *raft.Log) error {
	switch {
	case log.Index != index:
		return errAnother
	case len(log.Extensions) != sealSize:
		return errNoSeal
	case binary.LittleEndian.Uint32(log.Extensions) != checksum(log):
		return errSeal
	}
	log.Extensions = nil
	return nil
}

// checksum covers what makes an entry.
func checksum(log *raft.Log) uint32 {
	var head [17]byte
	binary.LittleEndian.PutUint64(head[0:], log.Index)
	binary.LittleEndian.PutUint64(head[8:], log.Term)
	head[16] = byte(log.Type)
	return crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, log.Data)
}
