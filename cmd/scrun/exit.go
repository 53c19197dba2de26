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

// interrupted stands for the exit code of an scrun whose user has ended it with ^C.
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

// messenger is all that scrun says by itself, on standard error.
type messenger struct {
	out     io.Writer
	quiet   bool
	verbose bool
}

// fail says why scrun cannot go on, and returns the exit code for it.
func (v messenger) fail(sentence string) int {
	v.print(quote.Sentence(sentence))
	return exitCluster
}

// failUnlessLeft is fail for a step before the job is known; left is the message when it
// was a signal that ended the step.
func (v messenger) failUnlessLeft(err error, left string) int {
	if by, ok := errors.AsType[leftBy](err); ok {
		v.print(left)
		return by.exitCode()
	}
	return v.fail(client.Sentence(err))
}

// warn says what the user should know although the job goes on.
func (v messenger) warn(sentence string) {
	if !v.quiet {
		v.print("warning: " + sentence)
	}
}

// note prints a message of -v.
func (v messenger) note(format string, arguments ...any) {
	if v.verbose {
		v.print(fmt.Sprintf(format, arguments...))
	}
}

// waiting says why scrun waits for the cluster.
func (v messenger) waiting(err error) { v.print(client.Sentence(err) + "; scrun waits") }

// print writes one line in one write, so that lines of ranks do not mix in.
func (v messenger) print(sentence string) {
	lines := strings.Split(strings.TrimRight(sentence, "\n"), "\n")
	for i, line := range lines {
		lines[i] = quote.Text(line)
	}
	fmt.Fprintf(v.out, "scrun: %s\n", strings.Join(lines, "\n"))
}
