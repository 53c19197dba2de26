package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// collect is an Emit that keeps copies.
type collect [][]byte

func (c *collect) emit(piece []byte) error {
	*c = append(*c, bytes.Clone(piece))
	return nil
}

func (c collect) strings() []string {
	var all []string
	for _, p := range c {
		all = append(all, string(p))
	}
	return all
}

func TestLines(t *testing.T) {
	label := Format{Label: true, Tasks: 12}
	cases := map[string]struct {
		format Format
		chunks []string
		want   []string // pieces, of the chunks in turn and of the end
	}{
		"whole lines":         {Format{}, []string{"a\nb\n"}, []string{"a\nb\n"}},
		"half line waits":     {Format{}, []string{"a\nb", "c\nd"}, []string{"a\n", "bc\n", "d"}},
		"line and more":       {Format{}, []string{"a", "b\nc\nd\ne"}, []string{"ab\n", "c\nd\n", "e"}},
		"nothing":             {Format{}, []string{"", ""}, nil},
		"empty lines":         {Format{}, []string{"\n\n"}, []string{"\n\n"}},
		"zero bytes":          {Format{}, []string{"\x00\n\x00"}, []string{"\x00\n", "\x00"}},
		"carriage returns":    {Format{}, []string{"1%\r", "2%\r\n"}, []string{"1%\r2%\r\n"}},
		"label":               {label, []string{"a\nb\n"}, []string{"03: a\n03: b\n"}},
		"label, half line":    {label, []string{"a", "b\n", "c"}, []string{"03: ab\n", "03: c\n"}},
		"label, empty line":   {label, []string{"\n"}, []string{"03: \n"}},
		"unbuffered":          {Format{Unbuffered: true}, []string{"a", "b\nc"}, []string{"a", "b\nc"}},
		"unbuffered, nothing": {Format{Unbuffered: true}, []string{""}, nil},
		"unbuffered, label": {
			Format{Unbuffered: true, Label: true, Tasks: 4},
			[]string{"a", "b\nc", "\n", "d\n"},
			[]string{"3: a", "b\n3: c", "\n", "3: d\n"},
		},
		"unbuffered, label, open end": {Format{Unbuffered: true, Label: true}, []string{"a"}, []string{"3: a", "\n"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			l := NewLines(3, c.format)
			var got collect
			for _, chunk := range c.chunks {
				if err := l.Add([]byte(chunk), got.emit); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.End(got.emit); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.strings(), c.want) {
				t.Errorf("got %q, want %q", got.strings(), c.want)
			}
		})
	}
}

func TestLabelWidth(t *testing.T) {
	cases := []struct {
		rank, tasks int
		want        string
	}{{0, 1, "0: "}, {9, 10, "9: "}, {9, 11, "09: "}, {7, 4096, "0007: "}, {12, 0, "12: "}}
	for _, c := range cases {
		if got := string(label(c.rank, c.tasks)); got != c.want {
			t.Errorf("rank %d of %d is %q, want %q", c.rank, c.tasks, got, c.want)
		}
	}
}

func TestLongLinesAreCut(t *testing.T) {
	long := strings.Repeat("x", 2*MaxLine+5) + "\n"
	var plain, labelled collect
	l := NewLines(0, Format{})
	for chunk := range slices.Chunk([]byte(long), 1000) {
		if err := l.Add(chunk, plain.emit); err != nil {
			t.Fatal(err)
		}
		if len(l.held) >= MaxLine {
			t.Fatalf("%d bytes are held", len(l.held))
		}
	}
	if got := strings.Join(plain.strings(), ""); got != long || len(plain) != 3 {
		t.Errorf("%d bytes in %d pieces", len(got), len(plain))
	}
	l = NewLines(0, Format{Label: true})
	if err := l.Add([]byte(long), labelled.emit); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(labelled.strings(), "")
	if strings.Count(got, "0: ") != 3 || strings.Count(got, "\n") != 3 || strings.Count(got, "x") != 2*MaxLine+5 {
		t.Errorf("%d labels, %d ends, %d characters", strings.Count(got, "0: "), strings.Count(got, "\n"), strings.Count(got, "x"))
	}
}

func TestPiecesOfLabelledEmptyLinesAreBounded(t *testing.T) {
	var got collect
	for _, unbuffered := range []bool{false, true} {
		l := NewLines(4095, Format{Label: true, Tasks: 4096, Unbuffered: unbuffered})
		if err := l.Add(bytes.Repeat([]byte("\n"), MaxLine), got.emit); err != nil {
			t.Fatal(err)
		}
		if cap(l.piece) > keepBytes {
			t.Errorf("%d bytes are kept", cap(l.piece))
		}
	}
	for _, piece := range got {
		if len(piece) > maxPiece {
			t.Fatalf("a piece has %d bytes", len(piece))
		}
	}
}

func TestErrorsOfEmitComeBack(t *testing.T) {
	full := errors.New("disk full")
	fail := func([]byte) error { return full }
	for _, format := range []Format{{}, {Label: true}, {Unbuffered: true}, {Unbuffered: true, Label: true}} {
		l := NewLines(0, format)
		if err := l.Add([]byte("a\n"), fail); !errors.Is(err, full) {
			t.Errorf("%+v: %v", format, err)
		}
		l = NewLines(0, format)
		if err := l.Add([]byte("a"), func([]byte) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if err := l.Add([]byte("b\n"), fail); !errors.Is(err, full) {
			t.Errorf("%+v, second half: %v", format, err)
		}
	}
	l := NewLines(0, Format{Label: true})
	if err := l.Add([]byte("a"), fail); err != nil {
		t.Fatal(err)
	}
	if err := l.End(fail); !errors.Is(err, full) {
		t.Error(err)
	}
}

// However a stream is chopped, the output is the stream, with labels at the line
// starts if asked for, and every buffered piece but the last ends a line.
func TestChoppingDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		format := Format{Label: rapid.Bool().Draw(t, "label"), Unbuffered: rapid.Bool().Draw(t, "unbuffered")}
		chunks := rapid.SliceOf(rapid.SliceOf(rapid.SampledFrom([]byte("ab\n\r\x00")))).Draw(t, "chunks")
		l, whole := NewLines(5, format), bytes.Join(chunks, nil)
		var got collect
		for _, c := range chunks {
			if err := l.Add(c, got.emit); err != nil {
				t.Fatal(err)
			}
		}
		before := len(got)
		if err := l.End(got.emit); err != nil {
			t.Fatal(err)
		}
		want := string(whole)
		if format.Label {
			want = labelled(want)
		}
		if out := strings.Join(got.strings(), ""); out != want {
			t.Fatalf("got %q, want %q", out, want)
		}
		for _, piece := range got[:before] {
			if !format.Unbuffered && piece[len(piece)-1] != '\n' {
				t.Fatalf("a piece ends within a line: %q", piece)
			}
		}
	})
}

// labelled is the plain way to say it.
func labelled(text string) string {
	if text == "" {
		return ""
	}
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		fmt.Fprintf(&b, "5: %s\n", line)
	}
	return b.String()
}

func BenchmarkLines(b *testing.B) {
	chunk := bytes.Repeat([]byte("a line of output as programs write it\n"), 1700)
	for name, format := range map[string]Format{"plain": {}, "label": {Label: true, Tasks: 64}} {
		b.Run(name, func(b *testing.B) {
			l := NewLines(1, format)
			b.SetBytes(int64(len(chunk)))
			b.ReportAllocs()
			for b.Loop() {
				if err := l.Add(chunk, func([]byte) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
