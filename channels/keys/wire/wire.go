package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Hello is the client's first line: which protocol, and which version.
const Hello = "score-keys 1\n"

// Op says what a frame is.
type Op uint8

// The ops of version 1.
const (
	Join Op = iota + 1
	Commit
	Fence
	Barrier
	Leave
	Respawn
)

func (o Op) String() string {
	switch o {
	case Join:
		return "join"
	case Commit:
		return "commit"
	case Fence:
		return "fence"
	case Barrier:
		return "barrier"
	case Leave:
		return "leave"
	case Respawn:
		return "respawn"
	}
	return fmt.Sprintf("request %d", uint8(o))
}

const (
	// HeadBytes is what stands before a frame's body.
	HeadBytes = 5
	// MaxFrame bounds a frame without its length: a value of the longest kind with its key. What is
	// put goes in several if it is more.
	MaxFrame = 16<<20 + 4096
	// JoinBytes is the length of the body of a Join.
	JoinBytes = 8
	// MaxReason bounds the reason why there was no fence.
	MaxReason = 1024
)

// ErrMalformed means that the other side does not speak this protocol.
var ErrMalformed = errors.New("keys: not a frame of this protocol")

// Append appends a frame.
func Append(dst []byte, op Op, body []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(1+len(body)))
	return append(append(dst, byte(op)), body...)
}

// Head reads the first HeadBytes of a frame: what it is, and how long its body. The error wraps
// ErrMalformed.
func Head(head []byte) (op Op, body int, err error) {
	if len(head) < HeadBytes {
		return 0, 0, ErrMalformed
	}
	n := binary.LittleEndian.Uint32(head)
	if n < 1 || n > MaxFrame {
		return 0, 0, fmt.Errorf("%w: a length of %d, the most is %d", ErrMalformed, n, MaxFrame)
	}
	return Op(head[4]), int(n) - 1, nil
}

// AppendJoin appends the frame that lets a rank in.
func AppendJoin(dst []byte, rank, size int) []byte {
	var body [JoinBytes]byte
	binary.LittleEndian.PutUint32(body[0:], uint32(rank))
	binary.LittleEndian.PutUint32(body[4:], uint32(size))
	return Append(dst, Join, body[:])
}

// ReadJoin reads the body of such a frame. The error wraps ErrMalformed.
func ReadJoin(body []byte) (rank, size int, err error) {
	if len(body) != JoinBytes {
		return 0, 0, ErrMalformed
	}
	rank, size = int(binary.LittleEndian.Uint32(body[0:])), int(binary.LittleEndian.Uint32(body[4:]))
	if rank >= size {
		return 0, 0, fmt.Errorf("%w: rank %d of %d", ErrMalformed, rank, size)
	}
	return rank, size, nil
}

// RespawnBody is the body of a Respawn.
func RespawnBody(times int) []byte {
	return binary.LittleEndian.AppendUint32(nil, uint32(min(max(times, 0), math.MaxInt32)))
}

// ReadRespawn reads it. The error wraps ErrMalformed.
func ReadRespawn(body []byte) (times int, err error) {
	if len(body) != 4 {
		return 0, ErrMalformed
	}
	return int(int32(binary.LittleEndian.Uint32(body))), nil
}

// Scope says who may see a key.
type Scope uint8

// The scopes.
const (
	Global Scope = iota // every rank
	Node                // the ranks of the owner's node
	Remote              // the ranks of other nodes
	scopes
)

// AppendPair appends one key to the body of a Commit.
func AppendPair(body []byte, scope Scope, key, value string) []byte {
	body = append(body, byte(scope))
	body = binary.AppendUvarint(body, uint64(len(key)))
	body = append(body, key...)
	body = binary.AppendUvarint(body, uint64(len(value)))
	return append(body, value...)
}

// ReadPairs reads the body of a Commit. The error wraps ErrMalformed, or is the one that each has
// returned.
func ReadPairs(body []byte, each func(scope Scope, key, value string) error) error {
	for len(body) > 0 {
		scope := Scope(body[0])
		key, rest, ok := text(body[1:])
		if !ok || scope >= scopes {
			return ErrMalformed
		}
		value, rest, ok := text(rest)
		if !ok {
			return ErrMalformed
		}
		if err := each(scope, string(key), string(value)); err != nil {
			return err
		}
		body = rest
	}
	return nil
}

// text takes a text with its length off a body.
func text(body []byte) (t, rest []byte, ok bool) {
	n, width := binary.Uvarint(body)
	if width <= 0 || n > uint64(len(body)-width) {
		return nil, nil, false
	}
	return body[width : width+int(n)], body[width+int(n):], true
}
