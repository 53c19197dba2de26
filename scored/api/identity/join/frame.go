package join

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/proto"
)

const (
	// Protocol identifies newcomers in the TLS handshake (ALPN, RFC 7301).
	Protocol = "score-join/1"
	// Timeout bounds the whole exchange: a commit to a slow disk, and a slow network.
	Timeout = 30 * time.Second
	// MaxMessage bounds a message in bytes; a request has some 300, an answer 2,000.
	MaxMessage = 16 << 10

	lengthBytes = 4
)

// ErrMessage is wrapped by errors in messages of the other side.
var ErrMessage = errors.New("join: message")

// Write sends a message with its length before it.
func Write(w io.Writer, m proto.Message) error {
	data, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, lengthBytes), m)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMessage, err)
	}
	if len(data)-lengthBytes > MaxMessage {
		return fmt.Errorf("%w: it has %d bytes, more than %d", ErrMessage, len(data)-lengthBytes, MaxMessage)
	}
	binary.BigEndian.PutUint32(data, uint32(len(data)-lengthBytes))
	_, err = w.Write(data)
	return err
}

// Read receives a message.
func Read(r io.Reader, m proto.Message) error {
	var head [lengthBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length > MaxMessage {
		return fmt.Errorf("%w: it has %d bytes, more than %d", ErrMessage, length, MaxMessage)
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(r, data); err != nil {
		return err
	}
	if err := proto.Unmarshal(data, m); err != nil {
		return fmt.Errorf("%w: %w", ErrMessage, err)
	}
	return nil
}
