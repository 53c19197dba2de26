package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	magic   = "\x89SCORE\r\n"
	version = 1
	// maxHead bounds the head: far more than names and numbers need.
	maxHead = 64 << 10
	// MaxState bounds the state, in bytes: its own bounds, with the largest
	// environments, stay far below.
	MaxState = 4 << 30
	// step is how much memory is allocated at once for a state whose length only the file claims.
	step = 1 << 20
)

// Errors of a file.
var (
	ErrNoBackup = errors.New("this is not a saved snapshot of a cluster")
	ErrVersion  = errors.New("the file is of a later version")
	ErrDamaged  = errors.New("the file is damaged")
)

// Head describes what was saved.
type Head struct {
	Cluster string `json:"cluster"`
	Version string `json:"version"` // of the program that saved
	// Term is the term of the leader that saved; a cluster that is restored begins far above it.
	Term uint64 `json:"term"`
	// SavedNanos is the time of the save, in nanoseconds since 1970 by the leader's clock.
	SavedNanos int64 `json:"saved_nanos"`
}

// Write writes a file.
func Write(to io.Writer, head Head, state []byte) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if len(text) > maxHead || len(state) > MaxState {
		return errors.New("the state is too large to be saved")
	}
	digest := sha256.New()
	both := io.MultiWriter(to, digest)
	start := binary.LittleEndian.AppendUint32([]byte(magic), version)
	start = binary.LittleEndian.AppendUint32(start, uint32(len(text)))
	start = append(start, text...)
	start = binary.LittleEndian.AppendUint64(start, uint64(len(state)))
	for _, part := range [][]byte{start, state} {
		if _, err := both.Write(part); err != nil {
			return err
		}
	}
	_, err = to.Write(digest.Sum(nil))
	return err
}

// Read reads a file to its end. Its errors wrap ErrNoBackup, ErrVersion, ErrDamaged, or are
// those of the reader.
func Read(from io.Reader) (head Head, state []byte, err error) {
	buffered := bufio.NewReaderSize(from, step)
	digest := sha256.New()
	r := &reader{from: buffered, seen: io.TeeReader(buffered, digest)}
	if string(r.take(uint64(len(magic)))) != magic {
		if r.err != nil && !errors.Is(r.err, ErrDamaged) {
			return Head{}, nil, r.err
		}
		return Head{}, nil, ErrNoBackup
	}
	if found := r.u32(); r.err == nil && found != version {
		return Head{}, nil, fmt.Errorf("%w: %d, and this program reads %d", ErrVersion, found, version)
	}
	text := r.take(r.bounded(uint64(r.u32()), maxHead))
	state = r.take(r.bounded(r.u64(), MaxState))
	sum := digest.Sum(nil)
	r.seen = buffered
	found := r.take(sha256.Size)
	if r.err == nil && !bytes.Equal(found, sum) {
		r.err = fmt.Errorf("%w: its digest is another one", ErrDamaged)
	}
	if _, err := buffered.ReadByte(); r.err == nil && !errors.Is(err, io.EOF) {
		r.err = fmt.Errorf("%w: something follows its end", ErrDamaged)
	}
	if r.err != nil {
		return Head{}, nil, r.err
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return Head{}, nil, fmt.Errorf("%w: its head is not JSON", ErrDamaged)
	}
	return head, state, nil
}

// reader takes parts until the first error.
type reader struct {
	from *bufio.Reader
	seen io.Reader
	err  error
}

// take returns length bytes. It allocates memory as they come: a length in a file is only a claim.
func (r *reader) take(length uint64) (data []byte) {
	for r.err == nil && uint64(len(data)) < length {
		more := int(min(length-uint64(len(data)), step))
		begin := len(data)
		data = append(data, make([]byte, more)...)
		if _, err := io.ReadFull(r.seen, data[begin:]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			r.err = fmt.Errorf("%w: it ends early", ErrDamaged)
		} else if err != nil {
			r.err = err
		}
	}
	return data
}

func (r *reader) u32() uint32 {
	if data := r.take(4); r.err == nil {
		return binary.LittleEndian.Uint32(data)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if data := r.take(8); r.err == nil {
		return binary.LittleEndian.Uint64(data)
	}
	return 0
}

func (r *reader) bounded(length, limit uint64) uint64 {
	if r.err == nil && length > limit {
		r.err = fmt.Errorf("%w: a part of it is too long", ErrDamaged)
	}
	return length
}
