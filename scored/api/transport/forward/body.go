package forward

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"score/scored/api"
	"score/scored/api/scorev1"
	"strings"
	"sync/atomic"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Body is the body of a call. That of a unary call is kept, so that it can be sent again.
type Body struct {
	kept   []byte
	stream io.ReadCloser
	keys   bool        // submissions under keys may be repeated
	read   atomic.Bool // from stream, or sent to a daemon that did not send it back
}

// ReadBody reads a request's body; keys reports whether submissions under keys are carried out
// once, however often they are made. The error is for its caller.
func ReadBody(r *http.Request, keys bool) (*Body, error) {
	if streaming(r) {
		return &Body{stream: r.Body}, nil
	}
	kept, err := io.ReadAll(io.LimitReader(r.Body, api.MaxUserMessage+1))
	if failure, ok := errors.AsType[*connect.Error](err); ok {
		return nil, failure
	}
	switch {
	case err != nil:
		return nil, connect.NewError(connect.CodeCanceled, err)
	case len(kept) > api.MaxUserMessage:
		return nil, connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("the request is larger than %d bytes", api.MaxUserMessage))
	}
	return &Body{kept: kept, keys: keys}, nil
}

// streaming reports whether the request is a stream of messages, as in
// https://connectrpc.com/docs/protocol#streaming-request and in gRPC.
func streaming(r *http.Request) bool {
	kind := r.Header.Get("Content-Type")
	return strings.HasPrefix(kind, "application/connect+") || strings.HasPrefix(kind, "application/grpc")
}

// Streams reports whether the call is a stream.
func (b *Body) Streams() bool { return b.stream != nil }

// Repeatable reports whether the call may be repeated though it may have been carried out.
func (b *Body) Repeatable(r *http.Request) bool {
	if b.stream != nil {
		return false
	}
	if r.URL.Path != api.KeyedSubmit {
		return api.Repeatable(r.URL.Path)
	}
	request := new(scorev1.SubmitRequest)
	decode := proto.Unmarshal
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		decode = protojson.Unmarshal
	}
	return b.keys && decode(b.kept, request) == nil && len(request.GetKey()) > 0
}

// Attach sets the body of a request.
func (b *Body) Attach(r *http.Request) {
	if b.stream == nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b.kept)), int64(len(b.kept))
		return
	}
	r.Body, r.ContentLength = b, -1
}

// Read implements io.Reader for a stream.
func (b *Body) Read(into []byte) (int, error) {
	b.read.Store(true)
	return b.stream.Read(into)
}

// Close implements io.Closer. If nothing was read, the body can still go to another daemon.
// Otherwise Close ends a pending Read, since the call could not end before that.
func (b *Body) Close() error {
	if !b.MayHaveRun() {
		return nil
	}
	return b.stream.Close()
}

// MayHaveRun reports whether the call may have been carried out somewhere, or cannot be repeated.
func (b *Body) MayHaveRun() bool { return b.read.Load() }

// Reset forgets the outcome of the call before it is repeated.
func (b *Body) Reset() { b.read.Store(false) }
