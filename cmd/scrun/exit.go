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

// Exit codes of scrun itself. If a program cannot be executed or is not found, the nodes report 126
// or 127, as a shell does.
const (
	exitCluster = 125
	exitPipe    = 128 + 13 // the reader of the output has closed it
)

// interrupted replaces the exit code if the user has ended scrun with ^C.
const interrupted = -1

// end ends scrun. After ^C it ends by SIGINT: after a program that exits by itself, with any code,
// a script or loop continues, and the user would have to interrupt each scrun in it.
func end(code int) {
	if code != interrupted {
		os.Exit(code)
	}
	signal.Reset(unix.SIGINT)
	runtime.LockOSThread()
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGINT) // sent to this thread, so it does not return
	os.Exit(128 + int(unix.SIGINT))
}

// messenger prints scrun's own messages on standard error.
type messenger struct {
	out     io.Writer
	quiet   bool
	verbose bool
}

// fail prints why scrun cannot continue, and returns the exit code.
func (v messenger) fail(sentence string) int {
	v.print(quote.Sentence(sentence))
	return exitCluster
}

// failUnlessInterrupted is fail for a step before the job is known. If a signal ended the step, it
// prints the message left.
func (v messenger) failUnlessInterrupted(err error, left string) int {
	if by, ok := errors.AsType[leftBy](err); ok {
		v.print(left)
		return by.exitCode()
	}
	return v.fail(client.Sentence(err))
}

// warn prints what the user should know although the job continues.
func (v messenger) warn(sentence string) {
	if !v.quiet {
		v.printLines(strings.Split("warning: "+sentence, "\n"))
	}
}

// note prints a message of -v.
func (v messenger) note(format string, arguments ...any) {
	if v.verbose {
		v.print(fmt.Sprintf(format, arguments...))
	}
}

// waiting prints why scrun waits for the cluster.
func (v messenger) waiting(err error) { v.print(client.Sentence(err) + "; scrun waits") }

// print writes one line, with escapes for line ends within the sentence: what follows one would
// look like the output of a rank, or another sentence of scrun.
func (v messenger) print(sentence string) { v.printLines([]string{sentence}) }

// printLines writes lines in one write, so that lines of ranks do not mix in.
func (v messenger) printLines(lines []string) {
	shown := make([]string, len(lines))
	for i, line := range lines {
		shown[i] = quote.Text(line)
	}
	fmt.Fprintf(v.out, "scrun: %s\n", strings.Join(shown, "\n"))
}
