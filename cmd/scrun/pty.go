package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"score/cmd/scrun/options"
	"score/scored/api/scorev1"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

const (
	// usualRows and usualColumns replace the size of a terminal that does not report it.
	usualRows, usualColumns = 24, 80
	// guardName is argument 0 of the process that restores the terminal if scrun is killed.
	guardName = "scrun-terminal-guard"
)

// ptyHint is printed when a user types to a program that may need a terminal.
const ptyHint = "the program has no terminal of its own; 'scrun --pty' gives it one, for shells, editors and debuggers"

// noTerminal refuses --pty if the input is not a terminal. The end of a pipe cannot be passed to a
// program on a terminal: a shell that begins to edit lines after ^D has arrived takes it for
// another character, and waits for ever.
const noTerminal = "--pty connects this terminal with rank 0, and the input is not a terminal: leave out --pty"

// rawTerminal is this terminal while rank 0 has a terminal of its own: it forwards every character
// as it is typed, including ^C and ^Z, and shows output unchanged.
type rawTerminal struct {
	fd    int
	saved unix.Termios
	guard *exec.Cmd
	alive *os.File // the guard sees the end of this pipe when scrun dies
}

// newRawTerminal makes a terminal raw. Restore undoes that; if scrun is killed, a guard process
// does.
func newRawTerminal(file *os.File) (*rawTerminal, error) {
	fd := int(file.Fd())
	saved, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, fmt.Errorf("cannot read the terminal's mode: %w", err)
	}
	t := &rawTerminal{fd: fd, saved: *saved}
	if err := t.startGuard(file); err != nil {
		return nil, fmt.Errorf("cannot guard the terminal: %w", err)
	}
	if err := t.enter(); err != nil {
		t.Restore()
		return nil, err
	}
	return t, nil
}

// enter makes the terminal raw. It is also used if another program has changed the mode.
func (t *rawTerminal) enter() error {
	if _, err := term.MakeRaw(t.fd); err != nil {
		return fmt.Errorf("cannot make the terminal raw: %w", err)
	}
	return nil
}

// startGuard starts the process that restores the terminal if this one is killed.
func (t *rawTerminal) startGuard(file *os.File) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	t.guard = exec.Command("/proc/self/exe")
	t.guard.Args = []string{guardName}
	t.guard.Stdin, t.guard.ExtraFiles = file, []*os.File{read}
	// A signal of a shell to this process and its children must not reach the guard.
	t.guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := t.guard.Start(); err != nil {
		write.Close()
		return err
	}
	t.alive = write
	return binary.Write(write, binary.NativeEndian, t.saved)
}

// Restore restores the terminal's mode, and ends the guard.
func (t *rawTerminal) Restore() {
	_ = unix.IoctlSetTermios(t.fd, unix.TCSETSW, &t.saved) // it may be gone
	_, _ = t.alive.Write([]byte{0})                        // nothing is left to restore
	t.alive.Close()
	_ = t.guard.Wait() // it has nothing to say
}

// guardTerminal runs the guard. Descriptor 0 is the terminal. Descriptor 3 brings the terminal's
// mode, then a byte if scrun has restored it; if scrun dies before that, the pipe ends without the
// byte.
func guardTerminal() int {
	signal.Ignore(unix.SIGINT, unix.SIGQUIT, unix.SIGHUP, unix.SIGTERM, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	from := os.NewFile(3, "scrun")
	var saved unix.Termios
	if err := binary.Read(from, binary.NativeEndian, &saved); err != nil {
		return exitCluster
	}
	if n, _ := from.Read(make([]byte, 1)); n == 0 { // scrun died without restoring
		_ = unix.IoctlSetTermios(0, unix.TCSETS, &saved) // it may be gone, too
	}
	return 0
}

// terminalSize returns the size of the first of the files that is a terminal.
func terminalSize(files ...*os.File) *scorev1.Terminal {
	for _, file := range files {
		if size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ); err == nil && size.Row > 0 && size.Col > 0 {
			return &scorev1.Terminal{Rows: uint32(size.Row), Columns: uint32(size.Col)}
		}
	}
	return &scorev1.Terminal{Rows: usualRows, Columns: usualColumns}
}

// isTerminal reports whether a file is a terminal.
func isTerminal(file *os.File) bool { return term.IsTerminal(int(file.Fd())) }

// rawWriter writes lines to a raw terminal.
type rawWriter struct{ io.Writer }

// Write implements io.Writer.
func (w rawWriter) Write(text []byte) (int, error) {
	if _, err := w.Writer.Write(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// ownTerminal makes this terminal raw if rank 0 has a terminal of its own.
func (s *session) ownTerminal(o *options.Options) (restore func(), err error) {
	if !o.PTY {
		s.input.hint = o.Tasks == 1 && s.input.file != nil && isTerminal(s.input.file) && isTerminal(os.Stdout)
		return func() {}, nil
	}
	if s.input.raw, err = newRawTerminal(s.input.file); err != nil {
		return nil, err
	}
	if isTerminal(os.Stderr) {
		s.messenger.out = rawWriter{s.messenger.out}
	}
	return s.input.raw.Restore, nil
}
