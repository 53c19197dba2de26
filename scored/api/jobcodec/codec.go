package jobcodec

import (
	"fmt"
	"score/scored/api/scorev1"

	"google.golang.org/protobuf/proto"
)

// Codec implements connect.Codec for binary protobuf messages. It has no state.
type Codec struct{}

// Name implements connect.Codec: the content type is that of connect's own codec.
func (Codec) Name() string { return "proto" }

// Marshal implements connect.Codec.
func (Codec) Marshal(message any) ([]byte, error) { return Codec{}.MarshalAppend(nil, message) }

// MarshalAppend appends the encoded message, as connect asks for beside Marshal. The message has no
// unknown fields: it was made here, not received.
func (Codec) MarshalAppend(to []byte, message any) ([]byte, error) {
	if out, ok := encode(to, message); ok {
		return out, nil
	}
	m, err := asProto(message)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{}.MarshalAppend(to, m)
}

// Unmarshal implements connect.Codec. The message keeps nothing of data.
func (Codec) Unmarshal(data []byte, message any) error {
	if decode(data, message) {
		return nil
	}
	m, err := asProto(message)
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(data, m); err != nil {
		return fmt.Errorf("decoding %T: %w", message, err)
	}
	return nil
}

func asProto(message any) (proto.Message, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no protobuf message", message)
	}
	return m, nil
}

// encode appends the message, or returns false if it has to go to the runtime.
func encode(to []byte, message any) (out []byte, ok bool) {
	w := writer{out: to, ok: true}
	switch m := message.(type) {
	case *scorev1.SubmitRequest:
		w.submission(m)
	case *scorev1.AttachRequest:
		w.attachment(m)
	case *scorev1.ConfirmOutputRequest:
		w.confirmation(m)
	default:
		return nil, false
	}
	return w.out, w.ok
}

// decode sets the message, or leaves it as it is and returns false: it has to go to the runtime.
func decode(data []byte, message any) bool {
	switch m := message.(type) {
	case *scorev1.SubmitResponse:
		return readSubmitted(data, m)
	case *scorev1.AttachEvent:
		return readEvent(data, m)
	case *scorev1.ConfirmOutputResponse:
		return len(data) == 0
	}
	return false
}
