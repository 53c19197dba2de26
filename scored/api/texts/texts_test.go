package texts_test

import (
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/scored/api/texts"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func TestUTF8(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain": "plain", "größe\n\x1b": "größe\n\x1b", "g\xfcnstig": `g\xfcnstig`, "\xff\xfe": `\xff\xfe`,
		"half \xc3": `half \xc3`, "\xed\xa0\x80": `\xed\xa0\x80`, "\ufffd": "\ufffd", `a\xff`: `a\xff`,
	} {
		if got := texts.UTF8(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if texts.Valid("a", text) != (text == want) {
			t.Errorf("%q: valid %v", text, text != want)
		}
	}
}

// order is a message with a text in each kind of field.
func order(text string) *agentpb.Prepare {
	return &agentpb.Prepare{
		JobId: 7, RestartedBecause: text, Preput: map[string]string{"k": "v", "k" + text: "v" + text},
		Spec: &scorev1.JobSpec{
			Name: "name", Argv: []string{"a", text}, WorkDir: "/" + text, StdoutPattern: text, Tasks: 3,
			Commands: []*scorev1.Command{{Argv: []string{"b"}}, {Env: []string{"A=" + text}, WorkDir: text, SearchPath: text}},
			Staged:   []*scorev1.StagedFile{{Name: text, Sha256: []byte{0xff}}},
		},
	}
}

func TestMessages(t *testing.T) {
	valid, odd := order("ä"), order("\xff")
	if !texts.ValidIn(valid) || texts.EscapeIn(valid) != valid {
		t.Error("a message in UTF-8 is another")
	}
	before := proto.CloneOf(odd)
	escaped := texts.EscapeIn(odd)
	if !proto.Equal(odd, before) {
		t.Error("the message itself was changed")
	}
	if want := order(`\xff`); texts.ValidIn(odd) || !proto.Equal(escaped, want) {
		t.Errorf("%v, want %v", escaped, want)
	}
	for _, m := range []*agentpb.Prepare{{Preput: map[string]string{"\xff": ""}}, {Spec: &scorev1.JobSpec{Argv: []string{"\xff"}}}} {
		if texts.ValidIn(m) {
			t.Errorf("%v counts as UTF-8", m)
		}
	}
}

// Texts of programs come over the wire as they are; one that must be UTF-8 and is not is refused.
func TestWire(t *testing.T) {
	odd := order("\xff\xfe")
	data, err := proto.Marshal(odd)
	if err != nil {
		t.Fatal(err)
	}
	got := new(agentpb.Prepare)
	if err := proto.Unmarshal(data, got); err != nil || !proto.Equal(got, odd) {
		t.Errorf("%v, %v", got, err)
	}
	for _, m := range []proto.Message{
		&scorev1.JobSpec{Name: "\xff"}, &scorev1.JobSpec{NodeList: []string{"\xff"}}, &scorev1.Identity{User: "\xff"}, &agentpb.Hello{Node: "\xff"},
	} {
		if _, err := proto.Marshal(m); err == nil {
			t.Errorf("%v was written", m)
		}
	}
	name := append([]byte{1<<3 | 2, 1}, 0xff) // JobSpec.name
	if proto.Unmarshal(name, new(scorev1.JobSpec)) == nil {
		t.Error("a name that is not UTF-8 was read")
	}
}

// Whatever message is read can be written again, and in JSON with escapes.
func FuzzMessages(f *testing.F) {
	for _, text := range []string{"a", "\xff", "\xc3", "ä\x80", strings.Repeat("\xfe", 300)} {
		data, err := proto.Marshal(order(text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := new(agentpb.Prepare)
		if proto.Unmarshal(data, m) != nil {
			return
		}
		again, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		back := new(agentpb.Prepare)
		if err := proto.Unmarshal(again, back); err != nil || !proto.Equal(back, m) {
			t.Errorf("%v, %v", back, err)
		}
		escaped := texts.EscapeIn(m)
		if !texts.ValidIn(escaped) {
			t.Errorf("%v", escaped)
		}
		if text, err := protojson.Marshal(escaped); err != nil || !utf8.Valid(text) {
			t.Errorf("%q, %v", text, err)
		}
	})
}
