package forward

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"score/scored/api"
	"score/scored/api/transport/h2"
	"strings"

	"connectrpc.com/connect"
)

// ErrLeaderLost is the answer to a call that may have had an effect and must not be repeated.
var ErrLeaderLost = errors.New("the server that leads was lost while it had the request; whether it was carried out is not known")

// Lost returns ErrLeaderLost as an error of connect.
func Lost() error { return connect.NewError(connect.CodeUnavailable, ErrLeaderLost) }

// Undecided returns the error for a call that no server could decide; doubt says what may have been
// done all the same, "": nothing, so that the call may be repeated.
func Undecided(text, doubt string) error {
	if doubt != "" {
		return connect.NewError(connect.CodeUnavailable, errors.New(text+" ("+doubt+")"))
	}
	err := connect.NewError(connect.CodeUnavailable, errors.New(text))
	err.Meta().Set(api.Unchanged, api.Yes)
	return err
}

// Refuse answers in the caller's protocol.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	_ = connect.NewErrorWriter().Write(w, r, err) // the caller may be gone
}

// hopHeaders concern one connection (RFC 9110, section 7.6.1).
var hopHeaders = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Transfer-Encoding", "Upgrade"}

// DropHop removes the headers that concern one connection.
func DropHop(h http.Header) {
	for _, name := range hopHeaders {
		h.Del(name)
	}
}

// Send calls another daemon. The caller closes the body of the response. If the answer is one
// message, it has come whole. After an error the body reports whether the call may have been
// carried out.
func Send(to http.RoundTripper, out *http.Request, body *Body) (*http.Response, error) {
	body.Attach(out)
	response, err := to.RoundTrip(out)
	if err != nil {
		if !errors.Is(err, h2.ErrDial) {
			body.read.Store(true)
		}
		return nil, err
	}
	if response.StatusCode == http.StatusMisdirectedRequest {
		return response, nil // the call has done nothing
	}
	if err := readWhole(response); err != nil {
		response.Body.Close()
		body.read.Store(true)
		return nil, err
	}
	return response, nil
}

// readWhole reads all of an answer of one message, so that the caller gets a sentence if the server
// is lost meanwhile.
func readWhole(response *http.Response) error {
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
