package forward

import (
	"context"
	"encoding/binary"
	"io"
	"maps"
	"net/http"
	"strings"
)

const (
	// envelopeHead is the size of the head of each message of a stream: flags, and the length in
	// four bytes, big-endian.
	envelopeHead = 5
	// EndOfStream is the flag of the last message, which is JSON
	// (https://connectrpc.com/docs/protocol#streaming-response).
	EndOfStream = 2
	// maxEnvelope bounds a forwarded message; the largest are lists of jobs.
	maxEnvelope = 256 << 20
	// BrokenOff is the last message of a stream whose server was lost.
	BrokenOff = `{"error":{"code":"unavailable","message":"the server that led was lost; attach again"}}`
)

// CopyAnswer copies an answer to its end, message by message. If the server of a stream is lost, it
// ends with an error that the caller can read. ctx is that of the request, and ends with the
// caller: an HTTP/2 client whose request waits for the server to take more of it does not notice
// that.
func CopyAnswer(ctx context.Context, w http.ResponseWriter, response *http.Response) {
	defer context.AfterFunc(ctx, func() { _ = response.Body.Close() })() // the copy ends with an error of its own
	maps.Copy(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	stream(w, response)
}

func stream(w http.ResponseWriter, response *http.Response) {
	flush := http.NewResponseController(w).Flush
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "application/connect+") {
		_, err := io.Copy(flushing{w, flush}, response.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the caller must not take half an answer for the whole
		}
		for name, values := range response.Trailer {
			w.Header()[http.TrailerPrefix+name] = values
		}
		return
	}
	_ = flush() // Write meets the same error
	buffer := make([]byte, envelopeHead, 32<<10)
	for {
		buffer = buffer[:envelopeHead]
		flags, err := readEnvelope(response.Body, &buffer)
		if err != nil {
			buffer = append(append(buffer[:0], EndOfStream, 0, 0, 0, byte(len(BrokenOff))), BrokenOff...)
			flags = EndOfStream
		}
		if _, err := w.Write(buffer); err != nil {
			return // the caller has gone
		}
		_ = flush() // Write meets the same error
		if flags&EndOfStream != 0 {
			return
		}
	}
}

// readEnvelope reads a whole message with its head.
func readEnvelope(from io.Reader, buffer *[]byte) (flags byte, err error) {
	if _, err := io.ReadFull(from, *buffer); err != nil {
		return 0, err
	}
	length := binary.BigEndian.Uint32((*buffer)[1:envelopeHead])
	if length > maxEnvelope {
		return 0, io.ErrUnexpectedEOF
	}
	whole := *buffer
	if need := envelopeHead + int(length); cap(whole) < need {
		whole = make([]byte, need)
		copy(whole, *buffer)
	} else {
		whole = whole[:need]
	}
	*buffer = whole
	_, err = io.ReadFull(from, whole[envelopeHead:])
	return whole[0], err
}

// flushing is a writer that flushes each write.
type flushing struct {
	io.Writer
	flush func() error
}

func (f flushing) Write(data []byte) (int, error) {
	n, err := f.Writer.Write(data)
	_ = f.flush() // the next Write meets the same error
	return n, err
}
