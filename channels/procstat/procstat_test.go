package procstat

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// line is a stat line as proc(5) has it, of a process with a given name.
func line(name string) string {
	return "42 (" + name + ") S 7 42 42 34816 -1 4194304 100 200 0 0 5 6 20 30 20 0 3 0 9876 1000 50 18446744073709551615 1 1 0\n"
}

func TestParse(t *testing.T) {
	want := Stat{State: 'S', Parent: 7, Group: 42, Threads: 3, Start: 9876, CPU: 610 * time.Millisecond}
	for _, name := range []string{"sh", "", "a b", ") R 1 1 (", "))", "\n"} {
		if got, err := Parse([]byte(line(name))); err != nil || got != want {
			t.Errorf("name %q: %+v, %v", name, got, err)
		}
	}
	whole := line("sh")
	for _, text := range []string{
		"", "42", "42 (sh", "42 (sh)", "42 (sh) ", whole[:strings.Index(whole, "9876")],
		strings.Replace(whole, "9876", "x", 1), strings.Replace(whole, "9876", "-1", 1), strings.Replace(whole, " 7 ", " x ", 1),
		strings.Replace(whole, "9876", "99999999999999999999", 1), strings.Replace(whole, "(sh)", "sh", 1),
	} {
		if got, err := Parse([]byte(text)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// The kernel writes this line if the process is reaped between the opening and the reading.
func TestReleased(t *testing.T) {
	text := "42 (sh) X 0 -1 -1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 0 0 9876 0 0 18446744073709551615 0 0 0\n"
	if s, err := Parse([]byte(text)); !errors.Is(err, ErrReleased) || !Gone(err) {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestParseAllocatesNothing(t *testing.T) {
	text := []byte(line("sh"))
	if n := testing.AllocsPerRun(100, func() { _, _ = Parse(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(line("sh")))
	f.Add([]byte(") ) )"))
	f.Add([]byte(")\x00 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse(text)
		if err == nil && s.State == 0 {
			t.Fatalf("%q has no state", text)
		}
	})
}

func TestExited(t *testing.T) {
	for _, c := range []byte("RSDITtZX") {
		over := c == 'Z' || c == 'X'
		if got := (Stat{State: c}).Exited(); got != over {
			t.Errorf("%c: over is %v", c, got)
		}
		if got := (Stat{State: c, Threads: 1}).Ended(); got != over {
			t.Errorf("%c: ended is %v", c, got)
		}
		if (Stat{State: c, Threads: 2}).Ended() {
			t.Errorf("%c: ended, though a thread goes on", c)
		}
	}
}

func TestReadThisProcess(t *testing.T) {
	s, err := Read(os.Getpid())
	if err != nil || s.Parent != os.Getppid() || s.Start == 0 || s.Threads == 0 || s.Exited() {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := Read(1 << 30); !Gone(err) {
		t.Errorf("a process that is not there: %v", err)
	}
}
