package pmi1

import (
	"bytes"
	"errors"
	"score/nodeagent/pmi"
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	var line Line
	if err := line.Parse([]byte("cmd=put kvsname=k key=a value=x=y;z empty= ")); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"kvsname": "k", "key": "a", "value": "x=y;z", "empty": ""} {
		if got, ok := line.Get(key); !ok || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", key, got, ok, want)
		}
	}
	if string(line.Command()) != "put" {
		t.Errorf("command %q", line.Command())
	}
	if _, ok := line.Get("other"); ok {
		t.Error("a key that is not there was found")
	}
	if _, err := line.Need("other"); !errors.Is(err, pmi.ErrMalformed) {
		t.Errorf("a missing key: %v", err)
	}
	// The scratch of one line must not show through in the next.
	if err := line.Parse([]byte("cmd=get")); err != nil {
		t.Fatal(err)
	}
	if _, ok := line.Get("value"); ok {
		t.Error("a pair of the line before is still there")
	}
}

// MPICH from 4.2 on says in a sentence why it aborts, which may end the line with a blank.
func TestAbortWithSentence(t *testing.T) {
	var line Line
	if err := line.Parse([]byte("cmd=abort exitcode=7 message=application called MPI_Abort(comm=0x1, 7) - process 1 ")); err != nil {
		t.Fatal(err)
	}
	if message, _ := line.Get("message"); string(message) != "application called MPI_Abort(comm=0x1, 7) - process 1 " {
		t.Errorf("%q", message)
	}
	if code, err := line.Int("exitcode"); code != 7 || err != nil {
		t.Errorf("%d, %v", code, err)
	}
	if err := line.Parse([]byte("cmd=put message=a b")); !errors.Is(err, pmi.ErrMalformed) {
		t.Errorf("another command: %v", err)
	}
}

func TestLineErrors(t *testing.T) {
	for text, want := range map[string]error{
		"":                                   pmi.ErrMalformed,
		"   ":                                pmi.ErrMalformed,
		"hello":                              pmi.ErrMalformed,
		"=value":                             pmi.ErrMalformed,
		"cmd=a b":                            pmi.ErrMalformed,
		"a=" + strings.Repeat("x", MaxLine):  pmi.ErrTooLong,
		strings.Repeat("a= ", MaxPairs+1):    pmi.ErrTooLong,
		strings.Repeat("a= ", MaxPairs) + "": nil,
	} {
		var line Line
		if err := line.Parse([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%.40q: got %v, want %v", text, err, want)
		}
	}
}

func TestInt(t *testing.T) {
	var line Line
	if err := line.Parse([]byte("cmd=x a=12 b=-1 c=99999999999 d=0x1 e=")); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]int{"a": 12, "b": -1} {
		if got, err := line.Int(key); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", key, got, err, want)
		}
	}
	for _, key := range []string{"c", "d", "e", "f"} {
		if _, err := line.Int(key); !errors.Is(err, pmi.ErrMalformed) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add([]byte("cmd=put kvsname=k key=a value=b"))
	f.Add([]byte("cmd=init pmi_version=1 pmi_subversion=1 "))
	f.Fuzz(func(t *testing.T, text []byte) {
		var line Line
		if line.Parse(text) != nil {
			return
		}
		for _, p := range line.pairs[:line.n] {
			sentence := line.isAbort() && string(p.key) == "message"
			if len(p.key) == 0 || bytes.ContainsAny(p.key, " =") || bytes.IndexByte(p.value, ' ') >= 0 && !sentence {
				t.Errorf("%q has the pair %q=%q", text, p.key, p.value)
			}
		}
	})
}
