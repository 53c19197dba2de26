package wire

import (
	"bytes"
	"errors"
	"testing"
)

func TestFrames(t *testing.T) {
	var stream bytes.Buffer
	c := NewConn(&stream)
	sent := []Frame{{1, Run, []byte("true")}, {2, Exit, []byte{3}}, {3, Stop, nil}}
	for _, f := range sent {
		if err := c.Send(f); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range sent {
		got, err := c.Receive()
		if err != nil || got.Command != want.Command || got.Kind != want.Kind || !bytes.Equal(got.Payload, want.Payload) {
			t.Errorf("received %v, %v; want %v", got, err, want)
		}
	}
	if err := c.Send(Frame{Payload: make([]byte, MaxPayload+1)}); !errors.Is(err, ErrLong) {
		t.Errorf("a long frame: %v", err)
	}
	stream.Write([]byte{0, 0, 0, 0, 1, 255, 255})
	if _, err := c.Receive(); !errors.Is(err, ErrLong) {
		t.Errorf("a long frame received: %v", err)
	}
}

func FuzzReceive(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 2, 1, 0, 'x'})
	f.Fuzz(func(t *testing.T, in []byte) {
		c := NewConn(bytes.NewBuffer(in))
		for {
			frame, err := c.Receive()
			if err != nil {
				return
			}
			if len(frame.Payload) > MaxPayload {
				t.Fatal("a long payload")
			}
		}
	})
}
