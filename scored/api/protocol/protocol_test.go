package protocol

import (
	"testing"
)

func TestRangesMeet(t *testing.T) {
	for _, c := range []struct {
		a, b Range
		want uint32 // 0: they do not meet
	}{
		{Range{1, 1}, Range{1, 1}, 1},
		{Range{1, 2}, Range{1, 1}, 1},
		{Range{1, 2}, Range{2, 3}, 2},
		{Range{1, 2}, Range{3, 4}, 0},
		{Range{2, 5}, Range{1, 9}, 5},
		{Of(0, 0), Range{1, 2}, 1},
		{Of(0, 0), Range{2, 3}, 0},
		{Of(0, 3), Range{2, 2}, 2},
	} {
		for _, pair := range [][2]Range{{c.a, c.b}, {c.b, c.a}} {
			got, ok := pair[0].Meet(pair[1])
			if ok != (c.want != 0) || ok && got != c.want {
				t.Errorf("%v and %v: %d, %v", pair[0], pair[1], got, ok)
			}
		}
	}
}

func TestMismatchSaysWhoIsTooOld(t *testing.T) {
	agent, server := Party{"the agent", "v3", Range{3, 4}}, Party{"the server", "v1", Range{1, 2}}
	want := "the server is too old: its version v1 understands protocols 1 to 2, and the agent, version v3, at least protocol 3; " +
		"upgrade the server"
	for _, got := range []string{Mismatch(agent, server), Mismatch(server, agent)} {
		if got != want {
			t.Error(got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("1-2")
	f.Fuzz(func(t *testing.T, text string) {
		if v, ok := own.Meet(Parse(text)); ok && (v < own.Oldest || v > own.Newest) {
			t.Errorf("%q: %d", text, v)
		}
	})
}
