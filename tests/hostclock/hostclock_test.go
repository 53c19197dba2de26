package hostclock

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

const (
	// role makes this program one whose clock is stepped: teller, or parent of one.
	role   = "HOSTCLOCK_TEST_ROLE"
	teller = "teller"
	parent = "parent"
)

func TestMain(m *testing.M) {
	Main()
	switch os.Getenv(role) {
	case teller:
		printTime()
	case parent:
		beget()
	default:
		os.Exit(m.Run())
	}
}

// printTime prints what time it is, and how long ago it began, for each line of its input.
func printTime() {
	began := time.Now()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(time.Now().UnixNano(), time.Since(began).Nanoseconds())
	}
}

// beget has a child speak and be spoken to.
func beget() {
	child := exec.Command("/proc/self/exe")
	child.Env = append(os.Environ(), role+"="+teller)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := child.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// host is a program with a clock.
type host struct {
	t       *testing.T
	clock   *Clock
	command *exec.Cmd
	input   io.WriteCloser
	lines   *bufio.Scanner
}

func begin(t *testing.T, as string) *host {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("it needs root")
	}
	clock, err := New()
	if err != nil {
		t.Fatal(err)
	}
	h := startAs(t, clock, as)
	t.Cleanup(func() {
		if err := errors.Join(h.end(), clock.Close()); err != nil {
			t.Error(err)
		}
	})
	return h
}

// startAs starts this program in a role, with a clock.
func startAs(t *testing.T, clock *Clock, as string) *host {
	t.Helper()
	h := &host{t: t, clock: clock, command: exec.Command("/proc/self/exe")}
	h.command.Env = append(os.Environ(), role+"="+as)
	h.command.Stderr = os.Stderr
	var err error
	if h.input, err = h.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	output, err := h.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.lines = bufio.NewScanner(output)
	if err := clock.Start(h.command); errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	return h
}

// end waits until the program, which has no more to read, has ended.
func (h *host) end() error {
	h.input.Close()
	return h.command.Wait()
}

// ask returns the time of day, and for how long the program has run.
func (h *host) ask() (wall time.Time, ran time.Duration) {
	h.t.Helper()
	fmt.Fprintln(h.input)
	if !h.lines.Scan() {
		h.t.Fatal("the program has ended: ", h.lines.Err())
	}
	var nanos int64
	if _, err := fmt.Sscan(h.lines.Text(), &nanos, &ran); err != nil {
		h.t.Fatalf("%q: %v", h.lines.Text(), err)
	}
	return time.Unix(0, nanos), ran
}

// near is how long the test may take between two looks.
const near = 10 * time.Minute

func (h *host) shows(offset time.Duration) {
	h.t.Helper()
	wall, ran := h.ask()
	if off := wall.Sub(time.Now().Round(0).Add(offset)).Abs(); off > near {
		h.t.Errorf("with an offset of %v the clock is wrong by %v", offset, off)
	}
	if ran < 0 || ran > near {
		h.t.Errorf("with an offset of %v the monotonic clock says that the program has run for %v", offset, ran)
	}
}

// The time of day is what was set, to and fro, for a program and for what it starts, and the
// monotonic clock goes on.
func TestClockStep(t *testing.T) {
	for _, as := range []string{teller, parent} {
		t.Run(as, func(t *testing.T) {
			h := begin(t, as)
			h.shows(0)
			offset := time.Duration(0)
			for _, by := range []time.Duration{time.Hour, -2 * time.Hour, 365 * 24 * time.Hour, -364 * 24 * time.Hour} {
				if err := h.clock.Step(by); err != nil {
					t.Fatal(err)
				}
				offset += by
				h.shows(offset)
			}
			if off := h.clock.Now().Sub(time.Now().Add(offset)).Abs(); off > near || h.clock.Offset() != offset {
				t.Errorf("the clock says %v, off by %v", h.clock.Now(), off)
			}
		})
	}
}

// What begins later has the offset from its first look on.
func TestLaterProcessesSeeTheOffset(t *testing.T) {
	h := begin(t, teller)
	if err := h.clock.Step(-time.Hour); err != nil {
		t.Fatal(err)
	}
	later := startAs(t, h.clock, parent)
	later.shows(-time.Hour)
	if err := h.clock.Step(2 * time.Hour); err != nil {
		t.Fatal(err)
	}
	later.shows(time.Hour)
	h.shows(time.Hour)
	if err := later.end(); err != nil {
		t.Error(err)
	}
	// What has ended is no trouble.
	if err := h.clock.Step(-time.Hour); err != nil {
		t.Fatal(err)
	}
	h.shows(0)
}

func TestBadSteps(t *testing.T) {
	clock, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer clock.Close()
	if err := clock.Step(time.Second + 1); !errors.Is(err, errStep) {
		t.Errorf("a step of %v: %v", time.Second+1, err)
	}
	if clock.Offset() != 0 {
		t.Errorf("the offset is %v", clock.Offset())
	}
}

// Start reports a program that does not exist.
func TestNoProgram(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("it needs root")
	}
	clock, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer clock.Close()
	command := exec.Command("/nowhere")
	if err := clock.Start(command); err == nil {
		err = command.Wait()
		if command.ProcessState.ExitCode() != notStarted {
			t.Errorf("it ended with %v", err)
		}
	}
}
