package staging

import (
	"context"
	"encoding/hex"
	"io"
)

// SumBytes is the length of a digest, SHA-256.
const SumBytes = 32

// File identifies a file's content: its digest and its length in bytes.
type File struct {
	Sum  [SumBytes]byte
	Size int64
}

// String returns the beginning of the digest, for people.
func (f File) String() string { return hex.EncodeToString(f.Sum[:6]) }

// Fetch writes a file from an offset on. It may be called again for the missing rest.
type Fetch func(ctx context.Context, from int64, to io.Writer) error

type key struct {
	uid uint32
	sum [SumBytes]byte
}
