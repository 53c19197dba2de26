package guard

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/hashicorp/raft"
)

// castagnoli is the polynomial that processors have an instruction for (CRC32C in RFC 3720, section
// B.4).
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealSize is the length of a checksum.
const sealSize = 4

var (
	errNoSeal  = errors.New("it has no checksum")
	errSeal    = errors.New("its checksum does not match")
	errAnother = errors.New("it belongs to another entry")
)

// seal returns copies of the entries with checksums in Raft's field for extensions. The originals
// belong to Raft.
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

// Unseal verifies the checksum that a Log has added to an entry, and removes it.
func Unseal(index uint64, log *raft.Log) error {
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

// checksum covers all that identifies an entry and its data.
func checksum(log *raft.Log) uint32 {
	var head [17]byte
	binary.LittleEndian.PutUint64(head[0:], log.Index)
	binary.LittleEndian.PutUint64(head[8:], log.Term)
	head[16] = byte(log.Type)
	return crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, log.Data)
}
