package api

import (
	"errors"
	"fmt"
	"score/scored/api/texts"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// JSON returns options with which answers in JSON, which allows only UTF-8, have escapes in other
// texts.
func JSON() connect.HandlerOption {
	return connect.WithHandlerOptions(
		connect.WithCodec(jsonCodec{"json"}),
		connect.WithCodec(jsonCodec{"json; charset=utf-8"}),
	)
}

var (
	errNoMessage = errors.New("no message")
	errEmpty     = errors.New("an empty body is not a JSON object")
)

// jsonCodec is connect's own codec for JSON, but for the escapes.
type jsonCodec struct{ name string }

// Name implements connect.Codec.
func (c jsonCodec) Name() string { return c.name }

// Marshal implements connect.Codec.
func (jsonCodec) Marshal(message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T: %w", message, errNoMessage)
	}
	return protojson.Marshal(texts.EscapeIn(m))
}

// Unmarshal implements connect.Codec. Fields that are not known are those of a later version.
func (jsonCodec) Unmarshal(data []byte, message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T: %w", message, errNoMessage)
	}
	if len(data) == 0 {
		return errEmpty
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, m)
}
