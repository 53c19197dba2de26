package rpc

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
)

const (
	// envelopeHead is before each message of a stream: flags, and the length in four bytes, big-endian.
	envelopeHead = 5
	// endOfStream is the flag of the last one, which is JSON
	// (https://connectrpc.com/docs/protocol#streaming-response).
	endOfStream = 2
	// maxEnvelope bounds a message that is passed on; the largest are lists of jobs.
	maxEnvelope = 256 << 20
	// brokenOff is the last message of a stream whose server was lost.
	brokenOff = `{"error":{"code":"unavailable","message":"the server that led was lost; attach again"}}`
)

// carry copies an answer to its end, message by message, so that a stream whose server is lost ends with an
// error that the caller can read.
func (h *router) carry(w http.ResponseWriter, response *http.Response) {
	flush := http.NewResponseController(w).Flush
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "application/connect+") {
		_, err := io.Copy(flushing{w, flush}, response.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the caller must not take half an answer for all of it
		}
		for name, values := range response.Trailer {
			w.Header()[http.TrailerPrefix+name] = values
		}
		return
	}
	_ = flush()
	buffer := make([]byte, envelopeHead, 32<<10)
	for {
		buffer = buffer[:envelopeHead]
		flags, err := readEnvelope(response.Body, &buffer)
		if err != nil {
			buffer = append(append(buffer[:0], endOfStream, 0, 0, 0, byte(len(brokenOff))), brokenOff...)
			flags = endOfStream
		}
		if _, err := w.Write(buffer); err != nil {
			return // the caller has gone
		}
		_ = flush()
		if flags&endOfStream != 0 {
			return
		}
	}
}

// gather has the whole answer come that is one message, so that the caller is told in a sentence if the server is lost
// meanwhile.
func gather(response *http.Response) error {
	kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	if kind != "application/proto" && kind != "application/json" {
		return nil
	}
	whole, err := io.ReadAll(io.LimitReader(response.Body, maxEnvelope+1))
	if err == nil && len(whole) > maxEnvelope {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(whole))
	return nil
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

// flushing writes at once what it is given.
type flushing struct {
	io.Writer
	flush func() error
}

func (f flushing) Write(data []byte) (int, error) {
	n, err := f.Writer.Write(data)
	_ = f.flush()
	return n, err
}
