package wire

import (
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
)

func TestFramesArePinned(t *testing.T) {
	for want, frame := range map[string][]byte{
		"090000000103000000" + "07000000": AppendJoin(nil, 3, 7),
		"0100000003":                      Append(nil, Fence, nil),
		"0800000002" + "01016b03ff0041":   Append(nil, Commit, AppendPair(nil, Node, "k", "\xff\x00A")),
	} {
		if got := hex.EncodeToString(frame); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestPairs(t *testing.T) {
	var body []byte
	want := ""
	for i, scope := range []Scope{Global, Node, Remote} {
		key, value := fmt.Sprint("key", i), fmt.Sprint("value", i*i)
		body = AppendPair(body, scope, key, value)
		want += fmt.Sprintln(scope, key, value)
	}
	got := ""
	err := ReadPairs(body, func(scope Scope, key, value string) error {
		got += fmt.Sprintln(scope, key, value)
		return nil
	})
	if err != nil || got != want {
		t.Errorf("%v: %s", err, got)
	}
	mine := errors.New("mine")
	if err := ReadPairs(body, func(Scope, string, string) error { return mine }); !errors.Is(err, mine) {
		t.Error(err)
	}
	for cut := 1; cut < len(body); cut++ {
		n := 0
		if err := ReadPairs(body[:cut], func(Scope, string, string) error { n++; return nil }); err == nil && n*len(body) != cut*3 && n == 3 {
			t.Errorf("%d of %d bytes: %d pairs", cut, len(body), n)
		}
	}
}

func TestHead(t *testing.T) {
	for _, head := range []string{"", "\x01\x00\x00\x00", "\x00\x00\x00\x00\x01", "\xff\xff\xff\xff\x01", "\x02\x10\x00\x01\x01"} {
		if _, _, err := Head([]byte(head)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", head, err)
		}
	}
	if _, _, err := ReadJoin([]byte("\x03\x00\x00\x00\x03\x00\x00\x00")); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
}

func FuzzPairs(f *testing.F) {
	f.Add(AppendPair(AppendPair(nil, Global, "a", "b"), Node, "c", ""))
	f.Fuzz(func(t *testing.T, body []byte) {
		var again []byte
		err := ReadPairs(body, func(scope Scope, key, value string) error {
			again = AppendPair(again, scope, key, value)
			return nil
		})
		if err == nil && len(again) > len(body) {
			t.Errorf("%x became %x", body, again)
		}
		if op, n, err := Head(body); err == nil && (n < 0 || n >= MaxFrame || op.String() == "") {
			t.Errorf("%v of %d bytes", op, n)
		}
	})
}
