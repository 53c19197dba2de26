package cli

import (
	"bytes"
	"testing"
)

// A text of a user, a program or a node stays in its cell, and changes nothing on the terminal.
func TestCellsAreReadable(t *testing.T) {
	var out bytes.Buffer
	table := newTable(&out, "NODE", "NAME")
	table.row("n1", "größer\nn2\tb\x1b[2J\u009bm\u202e\xff")
	table.row("n3", "c")
	if err := table.flush(); err != nil {
		t.Fatal(err)
	}
	const want = "NODE  NAME\nn1    größer\\nn2\\tb\\x1b[2J\\u009bm\\u202e\\xff\nn3    c\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
