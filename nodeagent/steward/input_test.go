package steward_test

import (
	"bytes"
	"os"
	"path/filepath"
	"score/nodeagent/steward/client"
	"score/scored/api/scorev1"
	"strings"
	"testing"
)

func piece(offset uint64, text string, eof bool) *scorev1.Stdin {
	return &scorev1.Stdin{Offset: &offset, Data: []byte(text), Eof: eof}
}

// watchTaken has a reader note what it is told of the input.
func watchTaken(s *client.Stdio) <-chan uint64 {
	told := make(chan uint64, 100)
	s.InputTaken = func(offset uint64) { told <- offset }
	return told
}

// What a reader sends again, or one that comes after it, reaches the rank once.
func TestInputComesOnce(t *testing.T) {
	a := start(t)
	a.run(1, []string{"cat"})
	first := a.openStdio(testJob)
	a.do(first.Send(piece(0, "one ", false)))
	a.do(first.Send(piece(4, "two ", false)))
	a.do(first.Send(piece(0, "one two ", false)))
	a.do(first.Send(piece(2, "e two three ", false)))
	for seen := 0; seen < len("one two three "); { // it has them
		out, _, err := first.Receive()
		if err != nil {
			t.Fatal(err)
		}
		seen += len(out.GetData())
	}
	second := a.stdio()
	told := watchTaken(second.Stdio)
	a.do(second.Send(piece(4, "two three ", false)))
	a.do(second.Send(piece(14, "four", false)))
	a.do(second.Send(piece(18, "", true)))
	a.do(second.Send(piece(18, "", true)))
	if got := readAll(t, second)[stream{0, 1}]; got != "one two three four" {
		t.Errorf("the rank got %q", got)
	}
	last := uint64(len("one two three ")) // what a reader is told at once
	for len(told) > 0 {
		next := <-told
		if next < last {
			t.Errorf("%d after %d", next, last)
		}
		last = next
	}
	if last != 19 {
		t.Errorf("the second reader was told last of %d, want 19", last)
	}
	a.exits()
}

// A reader is not told of input that no rank has, nor of more while a rank takes nothing.
func TestInputTaken(t *testing.T) {
	a := start(t)
	fifo := makeFIFO(t)
	a.run(1, sh("echo begun; read x <"+fifo.path+"; exec cat >/dev/null"))
	s := a.openStdio(testJob)
	told := watchTaken(s)
	if out, _, err := s.Receive(); err != nil || string(out.GetData()) != "begun\n" {
		t.Fatalf("%v, %v", out, err)
	}
	if len(told) > 0 {
		t.Errorf("the reader was told of %d bytes before it sent any", <-told)
	}
	const pipe = 64 << 10
	whole := bytes.Repeat([]byte("x"), 4*pipe)
	for at := 0; at < len(whole); at += pipe / 2 {
		a.do(s.Send(piece(uint64(at), string(whole[at:at+pipe/2]), false)))
		if at == pipe+pipe/2 { // the pipe is full, and a message waits: the next must not be counted
			break
		}
	}
	fifo.write(t, "\n")
	a.do(s.Send(piece(2*pipe, "", true)))
	for drained := false; !drained; {
		var err error
		if _, drained, err = s.Receive(); err != nil {
			t.Fatal(err)
		}
	}
	last := uint64(0)
	for len(told) > 0 {
		last = <-told
	}
	if last != 2*pipe+1 {
		t.Errorf("the ranks have the input up to %d, want %d", last, 2*pipe+1)
	}
	a.exits()
}

// A rank that has closed its output goes on reading.
func TestInputOutlivesOutput(t *testing.T) {
	a := start(t)
	path := filepath.Join(t.TempDir(), "got")
	a.run(1, []string{"sh", "-c", "echo out; echo err >&2; exec >&- 2>&-; exec cat >" + path})
	ranks := a.openStdio(testJob)
	for ended := 0; ended < 2; { // both streams
		out, end, err := ranks.Receive()
		if err != nil || end {
			t.Fatalf("the streams ended: %v, %v", end, err)
		}
		if out.GetEof() {
			ended++
		}
	}
	text := strings.Repeat("more than a pipe holds\n", 10_000)
	a.do(ranks.Send(piece(0, text, false)))
	a.do(ranks.Send(piece(uint64(len(text)), "", true)))
	if _, end, err := ranks.Receive(); err != nil || !end {
		t.Errorf("at the end of the input: %v, %v", end, err)
	}
	a.exits()
	if got, err := os.ReadFile(path); err != nil || string(got) != text {
		t.Errorf("the rank got %d bytes of %d, %v", len(got), len(text), err)
	}
}
