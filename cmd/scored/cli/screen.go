package cli

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// The control sequences (ECMA-48, and xterm's alternate screen, which all today's terminals have).
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // alternate screen, no cursor
	leaveScreen = "\x1b[0m\x1b[?25h\x1b[?1049l"
	homeCursor  = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
	styleReset  = "\x1b[0m"
)

var styleSequences = [...]string{stylePlain: "", styleHeading: "\x1b[7m", styleOn: "\x1b[1;32m"}

// screenColumns and screenLines are used where the terminal does not report its size.
const screenColumns, screenLines = 80, 24

// screen is a terminal that shows frames, from enter to leave.
type screen struct {
	in, out *os.File
	colour  bool
	before  *term.State // nil: not entered
}

// enter switches the terminal to frames.
func (s *screen) enter() error {
	before, err := term.MakeRaw(int(s.in.Fd()))
	if err != nil {
		return err
	}
	s.before = before
	_, err = s.out.WriteString(enterScreen)
	return err
}

// leave restores the terminal. It may be called again.
func (s *screen) leave() error {
	if s.before == nil {
		return nil
	}
	_, err := s.out.WriteString(leaveScreen)
	err = errors.Join(err, term.Restore(int(s.in.Fd()), s.before))
	s.before = nil
	return err
}

func (s *screen) size() (columns, lines int) {
	columns, lines, err := term.GetSize(int(s.out.Fd()))
	if err != nil || columns <= 0 || lines <= 0 {
		return screenColumns, screenLines
	}
	return columns, lines
}

// show draws a frame with one write, over the last one.
func (s *screen) show(frame []topLine) error {
	var text strings.Builder
	text.WriteString(homeCursor)
	for i, line := range frame {
		if i > 0 {
			text.WriteString("\r\n")
		}
		if s.colour {
			text.WriteString(styleSequences[line.style])
		}
		text.WriteString(line.text)
		if s.colour {
			text.WriteString(styleReset)
		}
		text.WriteString(clearLine)
	}
	text.WriteString(clearBelow)
	_, err := s.out.WriteString(text.String())
	return err
}

// keys reads what is typed until stop, the reading end of a pipe, is closed at its other end.
func (s *screen) keys(stop *os.File, typed chan<- byte) {
	fds := []unix.PollFd{{Fd: int32(s.in.Fd()), Events: unix.POLLIN}, {Fd: int32(stop.Fd()), Events: unix.POLLIN}}
	var buffer [16]byte
	for {
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if fds[1].Revents != 0 {
			return
		}
		if fds[0].Revents == 0 {
			continue
		}
		n, err := unix.Read(int(s.in.Fd()), buffer[:])
		if n <= 0 {
			if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
				continue
			}
			typed <- keyEnd // the terminal is gone
			return
		}
		for _, key := range buffer[:n] {
			typed <- key
		}
	}
}
