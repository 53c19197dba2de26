package guard

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"
)

// Raft stores a snapshot's description beside the data, without a checksum. Therefore the data
// start with a head that repeats it: magic, length (4 bytes, little-endian), JSON. Snapshots of
// format 1 have no head; their data never start with the magic.
const (
	headMagic = "score\x00s\x02"
	// maxHead has room for the addresses of any sensible number of servers.
	maxHead = 1 << 20
	// snapshotVersion is the version of Raft's descriptions, the only one that it writes.
	snapshotVersion = 1
)

var (
	errHeadLong   = errors.New("its head is too long")
	errHeadDiffer = errors.New("its description does not match its head")
)

// head holds what must be right for Raft to continue from a snapshot.
type head struct {
	Index, Term, ConfigurationIndex uint64
	Configuration                   raft.Configuration
}

func encodeHead(index, term uint64, configuration raft.Configuration, configurationIndex uint64) ([]byte, error) {
	text, err := json.Marshal(head{index, term, configurationIndex, configuration})
	if err != nil {
		return nil, err
	}
	data := append([]byte(headMagic), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(data[len(headMagic):], uint32(len(text)))
	return append(data, text...), nil
}

// opened reads a snapshot's data after the head.
type opened struct {
	io.Reader
	io.Closer
}

// skipHead compares the head with the description. It returns the data after the head, with the
// description adjusted to their size.
func skipHead(meta *raft.SnapshotMeta, from io.ReadCloser) (*raft.SnapshotMeta, io.ReadCloser, error) {
	start := make([]byte, len(headMagic)+4)
	n, err := io.ReadFull(from, start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	if n < len(start) || string(start[:len(headMagic)]) != headMagic {
		return meta, opened{io.MultiReader(bytes.NewReader(start[:n]), from), from}, nil
	}
	length := binary.LittleEndian.Uint32(start[len(headMagic):])
	if length > maxHead {
		return nil, nil, errHeadLong
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(from, text); err != nil {
		return nil, nil, fmt.Errorf("its head cannot be read: %w", err)
	}
	want, err := encodeHead(meta.Index, meta.Term, meta.Configuration, meta.ConfigurationIndex)
	if err != nil {
		return nil, nil, err
	}
	if meta.Version != snapshotVersion || !bytes.Equal(append(start, text...), want) {
		return nil, nil, errHeadDiffer
	}
	within := *meta
	within.Size -= int64(len(want))
	return &within, opened{from, from}, nil
}
