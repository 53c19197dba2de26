// Package signals has programs that tests start take signals as usual, also if the tests were
// started with signals ignored.
package signals

import (
	"os"
	"os/signal"
	"syscall"
)

// kept are the signals that a program of Go goes on ignoring if it was started so; see package
// os/signal.
var kept = []os.Signal{os.Interrupt, syscall.SIGHUP}

// Allow has programs that this process starts from now on take signals as usual, also signals that
// this process ignores since it was started so (SIGHUP by nohup, SIGINT as a shell's background
// job). They would inherit that: scrun would go on ignoring the signal, and a shell could set no
// trap.
func Allow() {
	for _, s := range kept {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s) // a signal that is caught is not ignored in a child
		}
	}
}
