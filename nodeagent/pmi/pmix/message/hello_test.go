package message

import (
	"bytes"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/transcript"
	"strings"
	"testing"
)

func hellos(t testing.TB) (all [][]byte) {
	t.Helper()
	for _, recorded := range transcripts(t) {
		for _, line := range recorded.Lines {
			if line.Kind == transcript.Hello {
				all = append(all, line.Data)
			}
		}
	}
	if len(all) == 0 {
		t.Fatal("no greeting in the transcripts")
	}
	return all
}

func TestHello(t *testing.T) {
	for _, data := range hellos(t) {
		h, err := ReadHello(data)
		encoding := "v41"
		if strings.HasPrefix(h.Version, "3.") {
			encoding = "v3"
		}
		if err != nil || h.Security != "native" || len(h.Credential) != 8 || h.Encoding != encoding ||
			h.BufferKind != bfrops.NotDescribed || h.Store != "hash" || h.Flag != 0 {
			t.Fatalf("%q: %+v, %v", data, h, err)
		}
		again := h.Append(nil)
		if HelloLength(again) != uint64(len(again)-HeaderLen) || !bytes.HasPrefix(data, again[HeaderLen:]) {
			t.Errorf("%q became %q", data, again)
		}
		for n := range len(again) - HeaderLen {
			if h, err := ReadHello(data[:n]); err == nil {
				t.Fatalf("cut to %d bytes: %+v", n, h)
			}
		}
	}
}

func FuzzHello(f *testing.F) {
	for _, data := range hellos(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ReadHello(data)
		if err != nil {
			return
		}
		if again, err := ReadHello(h.Append(nil)[HeaderLen:]); err != nil || again.Namespace != h.Namespace || again.Rank != h.Rank {
			t.Errorf("%+v became %+v, %v", h, again, err)
		}
	})
}

func TestRelease(t *testing.T) {
	for version, want := range map[string]int{"3.2.5": 3, "5.0.7a1": 5, "10.1.0": 10, "": 0, "new": 0} {
		if got := (&Hello{Version: version}).Release(); got != want {
			t.Errorf("%q: %d, want %d", version, got, want)
		}
	}
}
