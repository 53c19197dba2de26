package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"score/tests/await"
	"score/tests/journal"
	"score/tests/terminal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// person sits at a terminal with scrun.
type person struct {
	t       *testing.T
	master  *os.File
	slave   *os.File
	command *exec.Cmd
	screen  journal.Journal
	at      int // what of the screen was awaited
	usual   unix.Termios
}

// sit starts an scrun at a terminal of 31 rows and 97 columns.
func sit(t *testing.T, arguments ...string) *person {
	t.Helper()
	scrun, _ := alone(t)
	p := &person{t: t, command: scrun(arguments...)}
	p.master, p.slave = terminal.Open(t)
	p.size(31, 97)
	usual, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	p.usual = *usual
	plain := filepath.Join(t.TempDir(), "inputrc")
	if err := os.WriteFile(plain, []byte("set enable-bracketed-paste off\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.command.Env = append(p.command.Env, "TERM=xterm", "PS1=ready> ", "HISTFILE=", "INPUTRC="+plain)
	p.command.Stdin, p.command.Stdout, p.command.Stderr = p.slave, p.slave, p.slave
	p.command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := p.master.Read(buffer)
			if err != nil {
				return // the test is over
			}
			_, _ = p.screen.Write(buffer[:n])
		}
	}()
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		_ = p.command.Wait()
	})
	return p
}

func (p *person) size(rows, columns uint16) {
	p.t.Helper()
	if err := unix.IoctlSetWinsize(int(p.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) types(text string) {
	p.t.Helper()
	if _, err := p.master.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// until waits for something to be.
func (p *person) until(what string, is func() bool) {
	p.t.Helper()
	if err := await.Until(context.Background(), what, is); err != nil {
		p.t.Fatalf("%v; the screen: %q", err, p.screen.String())
	}
}

// sees waits for a text on the screen, after those seen before.
func (p *person) sees(text string) {
	p.t.Helper()
	p.until(text, func() bool {
		at := strings.Index(p.screen.String()[p.at:], text)
		if at >= 0 {
			p.at += at + len(text)
		}
		return at >= 0
	})
}

// asks types a command and waits for what it prints and the next prompt.
func (p *person) asks(command, answer string) {
	p.t.Helper()
	p.types(command + "\r")
	p.sees("\n" + answer)
	p.sees("ready> ")
}

// restored waits until the terminal is as it was.
func (p *person) restored() {
	p.t.Helper()
	p.until("the terminal is as it was", func() bool {
		now, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
		return err == nil && *now == p.usual
	})
}

func (p *person) leaves(code int) {
	p.t.Helper()
	_ = p.command.Wait() // the code tells
	if got := p.command.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit code %d, want %d; the screen: %q", got, code, p.screen.String())
	}
	p.restored()
}

// A shell is used as at a terminal of its own: size, job control, colours, the end.
func TestShellAtTerminal(t *testing.T) {
	p := sit(t, "--pty", "bash", "--norc", "--noprofile", "-i")
	p.sees("ready> ")
	p.asks("stty size", "31 97\r\n")
	p.asks("echo $TERM; test -t 0 -a -t 1 -a -t 2 && echo at a terminal", "xterm\r\nat a terminal\r\n")
	p.size(44, 111)
	// The shell may write its line again, at the new size, just before that prints something.
	p.types("until [ \"$(stty size)\" = '44 111' ]; do sleep 0.1; done; echo re''sized\r")
	p.sees("resized\r\n")
	p.sees("ready> ")
	p.asks("printf '\\033[31mred\\n'", "\x1b[31mred\r\n")
	// It says itself when it has the terminal: until then the keys are the shell's. And it has no
	// children: a shell whose child is stopped between vfork and exec cannot stop itself.
	p.types(`perl -e '$| = 1; $SIG{CONT} = sub { print "ag" . "ain\n" }; print "be" . "gun\n"; sleep 1 while 1'` + "\r")
	p.sees("begun\r\n")
	p.types("\x1a")
	p.sees("Stopped")
	p.sees("ready> ")
	p.types("fg\r")
	p.sees("again\r\n")
	p.types("\x03")
	p.sees("ready> ")
	p.asks("echo $?", "130\r\n")
	if text := p.screen.String(); strings.Contains(text, "no job control") || strings.Contains(text, "scrun:") {
		t.Errorf("%q", text)
	}
	p.types("exit 7\r")
	p.leaves(7)
}

// The end of what is typed ends the shell; other ranks' output is not shown.
func TestTerminalOfManyRanks(t *testing.T) {
	p := sit(t, "--pty", "-n", "3", "sh", "-c", `[ $SCORE_RANK = 0 ] || exec echo other; echo first; exec cat`)
	p.sees("first\r\n")
	p.types("line\r")
	p.sees("line\r\nline\r\n")
	p.types("\x04")
	p.leaves(0)
	if strings.Contains(p.screen.String(), "other") {
		t.Errorf("%q", p.screen.String())
	}
}

// Whatever ends scrun, the terminal is as it was.
func TestTerminalIsRestored(t *testing.T) {
	for _, signal := range []syscall.Signal{unix.SIGKILL, unix.SIGSEGV, unix.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			p := sit(t, "--pty", "sh", "-c", `trap 'exit 0' HUP; echo begun; read never`)
			p.sees("begun\r\n")
			if err := p.command.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = p.command.Wait()
			p.restored()
		})
	}
}

// Who types to a program without a terminal is told of --pty; who only looks on is not.
func TestHint(t *testing.T) {
	p := sit(t, "sh", "-c", `echo begun; read line; echo "got $line"`)
	p.sees("begun\r\n")
	if strings.Contains(p.screen.String(), "--pty") {
		t.Errorf("%q", p.screen.String())
	}
	p.types("word\r")
	p.sees("got word\r\n")
	p.leaves(0)
	if !strings.Contains(p.screen.String(), ptyHint) {
		t.Errorf("%q", p.screen.String())
	}
}

// Without a terminal there is nothing to connect rank 0 with, whatever else the input is.
func TestInputIsNoTerminal(t *testing.T) {
	scrun, _ := alone(t)
	for name, input := range map[string]io.Reader{"pipe": strings.NewReader("exit\n"), "null": nil} {
		t.Run(name, func(t *testing.T) {
			command := scrun("--pty", "sh", "-c", "echo ran")
			command.Stdin = input
			if code, out, errs := outcomeOf(t, command); code != exitCluster || out != "" || errs != "scrun: "+noTerminal+"\n" {
				t.Errorf("exit code %d, output %q, %q", code, out, errs)
			}
		})
	}
}

// A stopped program gets no key. The terminal's escape ends its job all the same, at the beginning
// of a line alone.
func TestEscapeEndsAStoppedProgram(t *testing.T) {
	p := sit(t, "--pty", "sh", "-c", `stty -echo; read line; echo "got $line"; kill -STOP $$`)
	p.types("in the line ~.\r")
	p.sees("got in the line ~.\r\n")
	p.types("\x03not yet\r~.")
	p.sees("scrun: ending the job; ~. once more leaves without waiting for its end\r\n")
	p.leaves(-1) // of SIGINT, as after ^C
}
