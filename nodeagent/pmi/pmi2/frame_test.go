package pmi2

import (
	"errors"
	"score/nodeagent/pmi"
	"testing"

	"pgregory.net/rapid"
)

func TestLength(t *testing.T) {
	for _, tt := range []struct {
		header string
		want   int
		err    error
	}{
		{"26    ", 26, nil},
		{"0     ", 0, nil},
		{"65536 ", MaxFrame, nil},
		{"000012", 12, nil},
		{"65537 ", 0, pmi.ErrTooLong},
		{"999999", 0, pmi.ErrTooLong},
		{"      ", 0, pmi.ErrMalformed},
		{" 12   ", 0, pmi.ErrMalformed},
		{"    23", 23, nil}, // MPICH from 4.2 on
		{"1 2   ", 0, pmi.ErrMalformed},
		{"-1    ", 0, pmi.ErrMalformed},
		{"cmd=in", 0, pmi.ErrMalformed},
		{"12", 0, pmi.ErrMalformed},
	} {
		got, err := Length([]byte(tt.header))
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%q: got %d, %v, want %d, %v", tt.header, got, err, tt.want, tt.err)
		}
	}
}

func TestFrame(t *testing.T) {
	f := Begin([]byte("before"), "kvs-get-response", "0x1")
	f.Int("rc", 0)
	f.Pair("value", ";a;;b=c\n")
	want := "before54    cmd=kvs-get-response;" + ThreadKey + "=0x1;rc=0;value=;;a;;;;b=c\n;"
	if got := string(f.End()); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What is written is read back, whatever is in the values.
func TestFrameIsReadBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		key := rapid.StringMatching(`[a-z-]{1,8}`)
		value := rapid.OneOf(rapid.String(), rapid.StringMatching(`[;=a]{0,9}`))
		f := Begin(nil, key.Draw(rt, "command"), "")
		type kv struct{ key, value string }
		var pairs []kv
		for range rapid.IntRange(0, 5).Draw(rt, "pairs") {
			p := kv{key.Draw(rt, "key"), value.Draw(rt, "value")}
			f.Pair(p.key, p.value)
			pairs = append(pairs, p)
		}
		text := f.End()
		length, err := Length(text[:HeaderLen])
		if err != nil || length != len(text)-HeaderLen {
			rt.Fatalf("%q: length %d, %v", text, length, err)
		}
		var body Body
		if err := body.Parse(text[HeaderLen:]); err != nil {
			rt.Fatal(err)
		}
		if len(body.pairs) != len(pairs)+1 {
			rt.Fatalf("%d pairs, want %d", len(body.pairs)-1, len(pairs))
		}
		for i, p := range pairs {
			if got := body.pairs[i+1]; string(got.key) != p.key || string(got.value) != p.value {
				rt.Fatalf("got %q=%q, want %q=%q", got.key, got.value, p.key, p.value)
			}
		}
	})
}
