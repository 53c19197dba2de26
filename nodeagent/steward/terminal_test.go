package steward_test

import (
	"score/scored/api/scorev1"
	"strings"
	"testing"
)

func withTerminal(rows, columns uint32) change {
	return withSpec(func(s *scorev1.JobSpec) {
		s.Stdin = scorev1.StdinMode_STDIN_MODE_RANK0
		s.Terminal = &scorev1.Terminal{Rows: rows, Columns: columns}
	})
}

// Rank 0 leads the session of a terminal of the right size; the others have no terminal.
func TestTerminal(t *testing.T) {
	a := start(t)
	a.run(2, sh(`[ $SCORE_RANK = 0 ] || { test ! -t 0 && test ! -t 1 && test ! -t 2 && echo none; exit; }
		test -t 0 && test -t 1 && test -t 2 && : </dev/tty && stty size && test "$(ps -o sid= -p $$)" -eq $$ && echo led`), withTerminal(33, 77))
	out := readAll(t, a.stdio())
	if got := out[stream{0, 1}]; got != "33 77\r\nled\r\n" {
		t.Errorf("rank 0: %q", got)
	}
	if got := out[stream{1, 1}]; got != "none\n" {
		t.Errorf("rank 1: %q", got)
	}
	a.exits()
}

// What comes for the terminal goes the way of what is typed: characters, the size, the end.
func TestTerminalInput(t *testing.T) {
	a := start(t)
	s := a.stdio()
	a.run(1, sh(`stty -echo; trap 'stty size; trap - WINCH' WINCH; echo ready; cat; echo over`), withTerminal(24, 80))
	seen := ""
	await := func(text string) {
		t.Helper()
		for !strings.Contains(seen, text) {
			out, drained, err := s.Receive()
			if err != nil || drained {
				t.Fatalf("%q, %v", seen, err)
			}
			seen += string(out.GetData())
		}
	}
	await("ready\r\n")
	a.do(s.Send(&scorev1.Stdin{Resize: &scorev1.Terminal{Rows: 50, Columns: 132}}))
	a.do(s.Send(&scorev1.Stdin{Data: []byte("typed\nno end")}))
	a.do(s.Send(&scorev1.Stdin{Eof: true}))
	await("over\r\n")
	for _, text := range []string{"typed\r\n", "no end", "50 132\r\n"} {
		if !strings.Contains(seen, text) {
			t.Errorf("%q is missing in %q", text, seen)
		}
	}
	a.exits()
}

// ^C at the terminal is a signal for the program in its foreground.
func TestTerminalInterrupt(t *testing.T) {
	a := start(t)
	s := a.stdio()
	a.run(1, sh(`stty -echo; echo ready; exec sleep 1000`), withTerminal(24, 80))
	for seen := ""; !strings.Contains(seen, "ready"); {
		out, _, err := s.Receive()
		if err != nil {
			t.Fatal(err)
		}
		seen += string(out.GetData())
	}
	a.do(s.Send(&scorev1.Stdin{Data: []byte{3}}))
	if exit := a.exits()[0]; exit.GetSignal() != 2 {
		t.Errorf("%v", exit)
	}
}
