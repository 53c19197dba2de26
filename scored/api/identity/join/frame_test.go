package join

import (
	"bytes"
	"errors"
	"io"
	"score/scored/api/agentpb"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
)

func TestFrames(t *testing.T) {
	var wire bytes.Buffer
	sent := &agentpb.JoinRequest{TokenId: "t1", Secret: []byte{1, 2}, Name: "n1", Role: "agent", Request: []byte{3}}
	if err := Write(&wire, sent); err != nil {
		t.Fatal(err)
	}
	whole := wire.Bytes()
	got := new(agentpb.JoinRequest)
	if err := Read(bytes.NewReader(whole), got); err != nil || !proto.Equal(got, sent) {
		t.Errorf("%v, %v", got, err)
	}
	for cut := range whole {
		if err := Read(bytes.NewReader(whole[:cut]), got); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	if err := Read(strings.NewReader("GET / HTTP/1.1\r\n"), got); !errors.Is(err, ErrMessage) {
		t.Errorf("too long: %v", err)
	}
	if err := Read(strings.NewReader("\x00\x00\x00\x02\xff\xff"), got); !errors.Is(err, ErrMessage) {
		t.Errorf("rubbish: %v", err)
	}
	if err := Write(io.Discard, &agentpb.JoinRequest{Request: make([]byte, MaxMessage)}); !errors.Is(err, ErrMessage) {
		t.Errorf("too long: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x04\x0a\x02t1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := new(agentpb.JoinRequest)
		if Read(bytes.NewReader(data), m) != nil {
			return
		}
		if err := Write(io.Discard, m); err != nil {
			t.Fatal(err)
		}
	})
}
