package display

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"score/nodeagent/stdio"
	"score/scored/api/scorev1"
	"testing"
)

func target(t *testing.T, text string) stdio.Target {
	t.Helper()
	parsed, err := stdio.ParseTarget(text, 4)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestOnTheTerminal(t *testing.T) {
	type piece struct {
		rank, stream uint32
		text         string
		eof          bool
	}
	for name, test := range map[string]struct {
		config   Config
		pieces   []piece
		out, err string
	}{
		"whole lines": {
			config: Config{Tasks: 2},
			pieces: []piece{{0, 1, "a", false}, {1, 1, "b\n", false}, {0, 1, "c\n", false}, {0, 2, "e\n", false}},
			out:    "b\nac\n", err: "e\n",
		},
		"the end of a stream": {
			config: Config{Tasks: 2},
			pieces: []piece{{0, 1, "a", false}, {0, 1, "", true}, {1, 1, "b\n", false}},
			out:    "ab\n",
		},
		"one rank waits for no line's end": {
			config: Config{Tasks: 1},
			pieces: []piece{{0, 1, "name? ", false}, {0, 2, "e", false}, {0, 1, "thanks", false}},
			out:    "name? thanks", err: "e",
		},
		"unbuffered": {
			config: Config{Tasks: 2, Unbuffered: true},
			pieces: []piece{{0, 1, "a", false}, {1, 1, "b", false}},
			out:    "ab",
		},
		"labels as wide as the largest rank": {
			config: Config{Tasks: 11, Label: true},
			pieces: []piece{{3, 1, "x\ny", false}, {10, 1, "z\n", false}, {3, 1, "", true}},
			out:    "03: x\n10: z\n03: y\n",
		},
		"one rank's": {
			config: Config{Tasks: 4, Output: target(t, "2"), Errors: target(t, "none")},
			pieces: []piece{{1, 1, "a\n", false}, {2, 1, "b\n", false}, {2, 2, "c\n", false}},
			out:    "b\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			test.config.Stdout, test.config.Stderr = &out, &errs
			d, err := New(test.config)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range test.pieces {
				if err := d.Show(&scorev1.Output{Rank: p.rank, Stream: p.stream, Data: []byte(p.text), Eof: p.eof}); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if out.String() != test.out || errs.String() != test.err {
				t.Errorf("output %q, errors %q; want %q, %q", out.String(), errs.String(), test.out, test.err)
			}
		})
	}
}

// Ranks and streams with the same file share it.
func TestSharedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	d, err := New(Config{Tasks: 2, Output: target(t, path), Errors: target(t, path)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file is not there from the beginning: %v", err)
	}
	for rank := range uint32(2) {
		for which := range uint32(2) {
			if err := d.Show(&scorev1.Output{Rank: rank, Stream: which + 1, Data: []byte("x\n")}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "x\nx\nx\nx\n" {
		t.Errorf("the file holds %q, %v", got, err)
	}
}

type failing struct{ writes int }

func (f *failing) Write([]byte) (int, error) {
	f.writes++
	return 0, errors.New("full")
}

// After an error nothing more is written, and it is told once.
func TestFailure(t *testing.T) {
	var full failing
	d, err := New(Config{Tasks: 1, Stdout: &full, Stderr: &full})
	if err != nil {
		t.Fatal(err)
	}
	output := &scorev1.Output{Stream: 1, Data: []byte("x\n")}
	if err := d.Show(output); err == nil || err.Error() != "cannot write the job's output: full" {
		t.Errorf("got %v", err)
	}
	if err := d.Show(output); err != nil {
		t.Errorf("told again: %v", err)
	}
	if err := d.Close(); err != nil || full.writes != 1 {
		t.Errorf("%v, %d writes", err, full.writes)
	}
}

func TestBadNode(t *testing.T) {
	d, err := New(Config{Tasks: 1, Output: target(t, filepath.Join(t.TempDir(), "%N"))})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Place([]*scorev1.NodePlace{{Node: "../escape", Ranks: []uint32{0}}}); err == nil {
		t.Error("a node's name led out of the directory")
	}
	if err := d.Show(&scorev1.Output{Stream: 1, Data: []byte("x\n")}); err != nil {
		t.Errorf("what is broken was told twice: %v", err)
	}
}

// A rank that says nothing has its file all the same.
func TestSilentRanksHaveFiles(t *testing.T) {
	dir := t.TempDir()
	d, err := New(Config{Tasks: 2, Output: target(t, filepath.Join(dir, "out.%t"))})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Place([]*scorev1.NodePlace{{Node: "n1", Ranks: []uint32{0, 1}}}); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"out.0", "out.1"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
