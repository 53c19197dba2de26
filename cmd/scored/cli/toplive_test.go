package cli

import (
	"context"
	"errors"
	"os"
	"score/scored/api/scorev1"
	"score/tests/terminal"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// topTestPatience ends a test that hangs.
const topTestPatience = 30 * time.Second

// console is a pseudoterminal and what was written on it.
type console struct {
	master, slave *os.File
	before        unix.Termios

	mu   sync.Mutex
	seen strings.Builder
	more chan struct{}
}

func newConsole(t *testing.T) *console {
	t.Helper()
	master, slave := terminal.Open(t)
	c := &console{master: master, slave: slave, more: make(chan struct{}, 1)}
	c.before = c.state(t)
	c.resize(t, 130, 30)
	go c.read()
	return c
}

func (c *console) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := c.master.Read(buffer)
		if err != nil {
			return
		}
		c.mu.Lock()
		c.seen.Write(buffer[:n])
		c.mu.Unlock()
		select {
		case c.more <- struct{}{}:
		default:
		}
	}
}

func (c *console) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.String()
}

// await waits until something was written after the position, and returns where it ends.
func (c *console) await(t *testing.T, from int, what string) (after int) {
	t.Helper()
	late := time.After(topTestPatience)
	for {
		if text := c.text(); strings.Contains(text[from:], what) {
			return from + strings.Index(text[from:], what) + len(what)
		}
		select {
		case <-c.more:
		case <-late:
			t.Fatalf("never written: %q; but %q", what, c.text())
		}
	}
}

func (c *console) state(t *testing.T) unix.Termios {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(c.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *state
}

func (c *console) resize(t *testing.T, columns, lines uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(c.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: lines}); err != nil {
		t.Fatal(err)
	}
}

func (c *console) checkRestored(t *testing.T) {
	t.Helper()
	c.await(t, 0, leaveScreen)
	if got := c.state(t); got != c.before {
		t.Errorf("the terminal is not as before: %+v, was %+v", got, c.before)
	}
}

func (c *console) live(ask askFunc) *liveTop {
	return &liveTop{screen: &screen{in: c.slave, out: c.slave, colour: true}, ask: ask, interval: time.Hour, sort: topSorts[1]}
}

func alwaysTop(context.Context) (*scorev1.GetTopResponse, error) { return exampleTop(), nil }

// TestTopGivesTheTerminalBack leaves in every way there is.
func TestTopGivesTheTerminalBack(t *testing.T) {
	ways := []struct {
		name  string
		leave func(c *console, cancel func())
		code  int
	}{
		{"q", func(c *console, _ func()) { _, _ = c.master.WriteString("q") }, 0},
		{"control C", func(c *console, _ func()) { _, _ = c.master.WriteString("\x03") }, 0},
		{"control D", func(c *console, _ func()) { _, _ = c.master.WriteString("\x04") }, 0},
		{"terminate", func(*console, func()) { _ = unix.Kill(os.Getpid(), unix.SIGTERM) }, 128 + 15},
		{"hang up", func(*console, func()) { _ = unix.Kill(os.Getpid(), unix.SIGHUP) }, 128 + 1},
		{"end of the caller", func(_ *console, cancel func()) { cancel() }, 0},
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			c := newConsole(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- c.live(alwaysTop).run(ctx) }()
			c.await(t, 0, "ocean")
			way.leave(c, cancel)
			select {
			case err := <-ended:
				exit, _ := errors.AsType[*ExitError](err)
				if way.code == 0 && err != nil || way.code != 0 && (exit == nil || exit.Code != way.code) {
					t.Errorf("error %v", err)
				}
			case <-time.After(topTestPatience):
				t.Fatal("it goes on")
			}
			c.checkRestored(t)
		})
	}
}

func TestTopGivesTheTerminalBackInAPanic(t *testing.T) {
	c := newConsole(t)
	live := c.live(alwaysTop)
	live.sort.value = func(*scorev1.TopJob) float64 { panic("a mistake") }
	func() {
		defer func() {
			if p := recover(); p != "a mistake" {
				t.Errorf("recovered %v", p)
			}
		}()
		_ = live.run(t.Context())
	}()
	c.checkRestored(t)
}

// TestTopOnATerminal: the frame fits the screen after a change of its size, keys sort, and a
// question that is not answered is told below the last frame.
func TestTopOnATerminal(t *testing.T) {
	c := newConsole(t)
	questions := 0
	live := c.live(func(context.Context) (*scorev1.GetTopResponse, error) {
		if questions++; questions == 2 {
			return nil, errors.New("the server rests")
		}
		return exampleTop(), nil
	})
	live.interval = topShortest
	ended := make(chan error, 1)
	go func() { ended <- live.run(t.Context()) }()
	at := c.await(t, 0, enterScreen)
	at = c.await(t, at, styleSequences[styleOn]+"3    ann")
	at = c.await(t, at, "no answer: the server rests")
	c.resize(t, 20, 8)
	_ = unix.Kill(os.Getpid(), unix.SIGWINCH)
	at = c.await(t, at, "14:14:20  cluster la"+styleReset)
	_, _ = c.master.WriteString("j")
	at = c.await(t, at, "... ")
	_, _ = c.master.WriteString("q")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	c.await(t, at, leaveScreen)
	c.checkRestored(t)
}

// TestTopWithoutATerminal: frames come one after the other until the caller ends, or the leader
// cannot be asked.
func TestTopWithoutATerminal(t *testing.T) {
	var out strings.Builder
	ctx, cancel := context.WithCancel(t.Context())
	questions := 0
	ask := func(context.Context) (*scorev1.GetTopResponse, error) {
		if questions++; questions == 3 {
			cancel()
		}
		return exampleTop(), nil
	}
	if err := batchTop(ctx, &out, &topOptions{interval: topShortest}, topSorts[0], ask); err != nil {
		t.Error(err)
	}
	if frames := strings.Count(out.String(), "JOB  USER"); frames != 3 || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%d frames:\n%s", frames, out.String())
	}
	away := errors.New("nobody leads")
	err := batchTop(
		t.Context(),
		&out,
		&topOptions{interval: topShortest},
		topSorts[0],
		func(context.Context) (*scorev1.GetTopResponse, error) { return nil, away },
	)
	if !errors.Is(err, away) {
		t.Errorf("error %v", err)
	}
}
