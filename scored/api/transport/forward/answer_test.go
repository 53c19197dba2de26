package forward

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// message is one of a stream.
func message(flags byte, text string) string {
	return string([]byte{flags, 0, 0, 0, byte(len(text))}) + text
}

// FuzzAnswer: whatever comes of a stream, its reader finds its end.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(message(0, "one") + message(EndOfStream, "{}")))
	f.Fuzz(func(t *testing.T, data []byte) {
		w := httptest.NewRecorder()
		CopyAnswer(
			t.Context(),
			w,
			&http.Response{
				StatusCode: http.StatusOK,
				Header:     http.Header{"Content-Type": {"application/connect+proto"}},
				Body:       io.NopCloser(bytes.NewReader(data)),
			},
		)
		for rest := bytes.NewReader(w.Body.Bytes()); ; {
			buffer := make([]byte, envelopeHead)
			flags, err := readEnvelope(rest, &buffer)
			if err != nil {
				t.Fatalf("the stream has no end: %v", err)
			}
			if flags&EndOfStream != 0 {
				return
			}
		}
	})
}
