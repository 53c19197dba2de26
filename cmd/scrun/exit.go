package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"score/scored/api/quote"
	"score/scored/client"
	"strings"

	"golang.org/x/sys/unix"
)

// Exit codes of scrun's own. A job that cannot be executed or is not found has
// 126 and 127 from its nodes, as a shell has.
const (
	exitCluster = 125
	exitPipe    = 128 + 13 // the reader of the output went away
)

// interrupted stands for the exit code of a scrun whose user has ended it with ^C.
const interrupted = -1

// end ends scrun. After ^C it dies of that signal: a script or loop of a shell goes on after a
// program that exits by itself, with whatever code, and would have to be interrupted once for each
// scrun in it.
func end(code int) {
	if code != interrupted {
		os.Exit(code)
	}
	signal.Reset(unix.SIGINT)
	runtime.LockOSThread()
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGINT) // this thread's: it does not return
	os.Exit(128 + int(unix.SIGINT))
}

// messenger prints scrun's own messages on standard error.
type messenger struct {
	out     io.Writer
	quiet   bool
	verbose bool
}

// fail prints why scrun cannot go on, and returns its exit code.
func (m messenger) fail(sentence string) int {
	m.print(quote.Sentence(sentence))
	return exitCluster
}

// failUnlessLeft is like fail, for a step before the job is known; left is the message if a signal
// ended the step.
func (m messenger) failUnlessLeft(err error, left string) int {
	if by, ok := errors.AsType[leftBy](err); ok {
		m.print(left)
		return by.exitCode()
	}
	return m.fail(client.Sentence(err))
}

// warn prints a warning; the job goes on.
func (m messenger) warn(sentence string) {
	if !m.quiet {
		m.print("warning: " + sentence)
	}
}

// note prints a message of -v.
func (m messenger) note(format string, arguments ...any) {
	if m.verbose {
		m.print(fmt.Sprintf(format, arguments...))
	}
}

// waiting prints why scrun waits for the cluster.
func (m messenger) waiting(err error) { m.print(client.Sentence(err) + "; scrun waits") }

// print writes one line in one write, so that lines of ranks do not mix in.
func (m messenger) print(sentence string) {
	lines := strings.Split(strings.TrimRight(sentence, "\n"), "\n")
	for i, line := range lines {
		lines[i] = quote.Text(line)
	}
	fmt.Fprintf(m.out, "scrun: %s\n", strings.Join(lines, "\n"))
}
