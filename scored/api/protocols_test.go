package api

import (
	"fmt"
	"net/http"
	"score/scored/api/protocol"
	"strings"
	"testing"
)

func TestHeader(t *testing.T) {
	ask := func(text string) string {
		return CheckProtocols(http.Header{protocolsHeader: {text}, buildHeader: {strings.Repeat("v", 100)}}, "v1")
	}
	for text, fine := range map[string]bool{
		"": true, fmt.Sprintf("%d-%d", protocol.Own().Oldest, protocol.Own().Newest): true, "1-99": true, "98-99": false, "x": false, "-": false, "0-0": false, "-1-1": false,
	} {
		if said := ask(text); (said == "") != fine {
			t.Errorf("%q: %q", text, said)
		}
	}
	if said := ask("98-99"); !strings.HasPrefix(said, "the server is too old: its version v1 understands") || strings.Contains(said, strings.Repeat("v", 65)) {
		t.Error(said)
	}
}

type asked func(*http.Request) (*http.Response, error)

func (f asked) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTransportTells(t *testing.T) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://scored", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = SendProtocols(asked(func(r *http.Request) (*http.Response, error) {
		if said := CheckProtocols(r.Header, "v1"); said != "" || r.Header.Get(protocolsHeader) == "" || r.Header.Get(buildHeader) != "v2" {
			t.Errorf("%v: %s", r.Header, said)
		}
		return &http.Response{Body: http.NoBody}, nil
	}), "v2").RoundTrip(r)
	if err != nil || r.Header.Get(protocolsHeader) != "" {
		t.Errorf("%v, the caller's header %v", err, r.Header)
	}
}
