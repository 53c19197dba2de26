package api

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"testing"

	"pgregory.net/rapid"
)

// envelope is a message as the wire has it.
func envelope(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
}

// sent is what a transport reads of a body, read by read.
func sent(contentType string, body io.ReadCloser, space int) (reads [][]byte, err error) {
	request := &http.Request{Header: http.Header{"Content-Type": {contentType}}, Body: body}
	_, err = WholeMessages(roundTrip(func(r *http.Request) error {
		for {
			p := make([]byte, space)
			n, err := r.Body.Read(p)
			if n > 0 {
				reads = append(reads, p[:n])
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})).RoundTrip(request)
	return reads, err
}

type roundTrip func(*http.Request) error

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return nil, f(r) }

// A prefix and its body, written one by one, are read as one; no byte is lost,
// however little space there is.
func TestWholeMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bodies := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 40)).Draw(t, "bodies")
		space := rapid.SampledFrom([]int{1, 4, 5, 6, 20, 1000}).Draw(t, "space")
		r, w := io.Pipe()
		go func() {
			for _, body := range bodies {
				message := envelope(body)
				_, _ = w.Write(message[:prefixBytes])
				_, _ = w.Write(message[prefixBytes:])
			}
			w.Close()
		}()
		reads, err := sent(streamType+"proto", r, space)
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		for _, body := range bodies {
			want = append(want, envelope(body)...)
		}
		if got := bytes.Join(reads, nil); !bytes.Equal(got, want) {
			t.Fatalf("read %x, want %x", got, want)
		}
		if space == 1000 && len(reads) != len(bodies) {
			t.Fatalf("%d reads of %d messages", len(reads), len(bodies))
		}
	})
}

func TestOtherBodiesPass(t *testing.T) {
	content := append(envelope([]byte("one")), envelope([]byte("two"))...)
	for _, kind := range []string{"application/proto", streamType + "proto"} {
		reads, err := sent(kind, io.NopCloser(bytes.NewReader(content)), 1000)
		if err != nil || !bytes.Equal(bytes.Join(reads, nil), content) {
			t.Errorf("%s: read %x, %v", kind, reads, err)
		}
	}
}

// An error behind a prefix comes after it.
func TestBrokenMessage(t *testing.T) {
	r, w := io.Pipe()
	broken := errors.New("broken")
	go func() {
		_, _ = w.Write(envelope(make([]byte, 9))[:prefixBytes])
		w.CloseWithError(broken)
	}()
	reads, err := sent(streamType+"proto", r, 1000)
	if !errors.Is(err, broken) || len(reads) != 1 || len(reads[0]) != prefixBytes {
		t.Errorf("read %x, %v", reads, err)
	}
}
