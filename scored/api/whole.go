package api

import (
	"encoding/binary"
	"io"
	"net/http"
	"strings"
)

// WholeMessages makes a transport write each message of a stream as one HTTP/2
// frame, with one system call. The messages come as a prefix and a body; by
// itself the transport would write them separately, and wake the other side
// twice.
func WholeMessages(next http.RoundTripper) http.RoundTripper { return wholeMessages{next} }

type wholeMessages struct{ next http.RoundTripper }

// streamType begins the content types of streams;
// https://connectrpc.com/docs/protocol#streaming-request.
const streamType = "application/connect+"

// RoundTrip implements http.RoundTripper.
func (w wholeMessages) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil || !strings.HasPrefix(r.Header.Get("Content-Type"), streamType) {
		return w.next.RoundTrip(r)
	}
	whole := *r // which a RoundTripper must not change
	whole.Body = &messages{ReadCloser: r.Body}
	return w.next.RoundTrip(&whole)
}

// CloseIdleConnections implements the optional interface of http.Client's transports.
func (w wholeMessages) CloseIdleConnections() {
	if next, ok := w.next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}

// prefixBytes is a message's prefix: flags, and the length in four bytes.
const prefixBytes = 5

// messages reads a stream of messages so that a prefix comes together with its body.
type messages struct {
	io.ReadCloser
	left  int   // of the message begun
	err   error // of the second half of the last Read
	plain bool  // it does not come as expected, and is passed through
}

// Read implements io.Reader. Behind a prefix it waits for the body, which
// follows at once.
func (m *messages) Read(p []byte) (int, error) {
	if m.err != nil {
		return 0, m.err
	}
	n, err := m.ReadCloser.Read(p)
	switch {
	case m.plain || n == 0 || err != nil:
		return n, err
	case m.left > 0:
		m.left -= n
		m.plain = m.left < 0
		return n, nil
	case n != prefixBytes:
		m.plain = true
		return n, nil
	}
	m.left = int(binary.BigEndian.Uint32(p[1:prefixBytes]))
	if m.left == 0 || len(p) == n {
		return n, nil
	}
	more, err := m.ReadCloser.Read(p[n:])
	m.left, m.err = m.left-more, err
	return n + more, nil
}
