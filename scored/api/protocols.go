package api

import (
	"fmt"
	"net/http"
	"score/scored/api/protocol"
)

const (
	// protocolsHeader is the header in which users' programs announce what they understand: "1-2".
	protocolsHeader = "Score-Protocols"
	// buildHeader is the header with their build.
	buildHeader = "Score-Version"
	// maxBuild bounds how much of it a sentence repeats.
	maxBuild = 64
)

// ProgramHeaders returns the headers that describe a user's program, which daemons forward.
func ProgramHeaders() []string { return []string{protocolsHeader, buildHeader} }

// SendProtocols returns a transport that adds this program's protocol versions to each request.
func SendProtocols(next http.RoundTripper, build string) http.RoundTripper {
	return &protocolSender{next: next, build: build}
}

type protocolSender struct {
	next  http.RoundTripper
	build string
}

// RoundTrip implements http.RoundTripper.
func (t *protocolSender) RoundTrip(r *http.Request) (*http.Response, error) {
	out := r.Clone(r.Context())
	own := protocol.Own()
	out.Header.Set(protocolsHeader, fmt.Sprintf("%d-%d", own.Oldest, own.Newest))
	out.Header.Set(buildHeader, t.build)
	return t.next.RoundTrip(out)
}

// CheckProtocols returns the sentence why a caller is not understood, or "". A caller without the
// header is accepted.
func CheckProtocols(h http.Header, build string) string {
	text := h.Get(protocolsHeader)
	if text == "" {
		return ""
	}
	own, theirs := protocol.Own(), protocol.Parse(text)
	if _, ok := own.Meet(theirs); ok {
		return ""
	}
	theirBuild := h.Get(buildHeader)
	return protocol.Mismatch(
		protocol.Party{Name: "this program", Build: theirBuild[:min(len(theirBuild), maxBuild)], Range: theirs},
		protocol.Party{Name: "the server", Build: build, Range: own},
	)
}
