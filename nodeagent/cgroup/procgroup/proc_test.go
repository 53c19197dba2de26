package procgroup

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// line is a stat line as proc(5) has it, of a process with a given name.
func line(name string) string {
	return "42 (" + name + ") S 7 42 42 34816 42 4194304 100 200 0 0 5 6 20 30 20 0 1 0 9876 1000 50 18446744073709551615 1 1 0\n"
}

func TestParseStat(t *testing.T) {
	want := stat{state: 'S', ppid: 7, pgid: 42, start: 9876, cpu: 610 * time.Millisecond}
	for _, name := range []string{"sh", "", "a b", ") R 1 1 (", "))", "\n"} {
		if got, err := parseStat([]byte(line(name))); err != nil || got != want {
			t.Errorf("name %q: %+v, %v", name, got, err)
		}
	}
	whole := line("sh")
	for _, text := range []string{"", "42", "42 (sh", "42 (sh)", "42 (sh) ", whole[:strings.Index(whole, "9876")],
		strings.Replace(whole, "9876", "x", 1), strings.Replace(whole, "9876", "99999999999999999999", 1)} {
		if got, err := parseStat([]byte(text)); !errors.Is(err, errStat) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(line("sh")))
	f.Add([]byte(") ) )"))
	f.Add([]byte(")\x00 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseStat(text)
		if err == nil && s.state == 0 {
			t.Fatalf("%q has no state", text)
		}
	})
}

func TestStates(t *testing.T) {
	for _, c := range []byte("TtZX") {
		if !(stat{state: c}).stopped() {
			t.Errorf("%c does not count as stopped", c)
		}
	}
	for _, c := range []byte("RSDI") {
		if (stat{state: c}).stopped() || (stat{state: c}).over() {
			t.Errorf("%c counts as stopped", c)
		}
	}
}

func TestReadStatOfThisProcess(t *testing.T) {
	s, err := readStat(os.Getpid(), make([]byte, statBytes))
	if err != nil || s.ppid != os.Getppid() || s.start == 0 || s.over() {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := readStat(1<<30, make([]byte, statBytes)); !gone(err) {
		t.Errorf("a process that is not there: %v", err)
	}
}

func TestDescendants(t *testing.T) {
	all := map[int]stat{
		1:  {ppid: 0, pgid: 1, state: 'S'},
		10: {ppid: 1, pgid: 10, state: 'S'},  // the steward
		11: {ppid: 10, pgid: 11, state: 'T'}, // a rank
		12: {ppid: 11, pgid: 12, state: 'R'}, // its child, in a group of its own
		13: {ppid: 12, pgid: 12, state: 'S'},
		14: {ppid: 10, pgid: 14, state: 'Z'}, // over, not reaped
		15: {ppid: 1, pgid: 11, state: 'S'},  // of the rank's group, parent gone
		20: {ppid: 1, pgid: 20, state: 'S'},  // somebody else
		21: {ppid: 20, pgid: 20, state: 'S'},
		30: {ppid: 31, pgid: 30, state: 'S'}, // a circle: the table changed while it was read
		31: {ppid: 30, pgid: 30, state: 'S'},
		40: {ppid: 99, pgid: 40, state: 'S'}, // its parent came too late for the table
	}
	got := descendants(all, 10, map[int]bool{11: true})
	slices.Sort(got)
	if want := []int{11, 12, 13, 15}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
