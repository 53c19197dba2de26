package agentdir

import (
	"score/scored/api"
	"testing"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"score-agent-address 1 127.0.0.1:4711\n": "127.0.0.1:4711",
		"score-agent-address 1 127.0.0.1:4711":   "",
		"score-agent-address 1 127.0.0.1:47":     "",
		"score-agent-address 2 127.0.0.1:4711\n": "",
		"score-agent-address 1 127.0.0.1:0\n":    "",
		"score-agent-address 1 127.0.0.2:4711\n": "",
		"score-agent-address 1 10.0.0.1:4711\n":  "",
		"score-agent-address 1 \x00\xff\n":       "",
		"":                                       "",
	} {
		if got := parseAddress(text, "127.0.0.1:0"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := parseAddress("score-agent-address 1 127.0.0.1:4711\n", "127.0.0.1:5000"); got != "" {
		t.Errorf("a fixed port gives way to %q", got)
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add("score-agent-address 1 127.0.0.1:4711\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got := parseAddress(text, "127.0.0.1:0"); got != "" && api.CheckLoopback(got) != nil {
			t.Errorf("%q: %q", text, got)
		}
	})
}
