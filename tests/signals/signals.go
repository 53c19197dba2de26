// Package signals lets programs that tests start be signalled, whatever started the tests.
package signals

import (
	"os"
	"os/signal"
	"syscall"
)

// kept are the signals that a program of Go goes on ignoring if it was started so; see package
// os/signal.
var kept = []os.Signal{os.Interrupt, syscall.SIGHUP}

// Allow has programs that this process starts from now on take signals as usual, also those that
// this one was started with ignored (SIGHUP by nohup, SIGINT as a shell's background job): they
// would inherit that, scrun would keep to it, and a shell could set no trap.
func Allow() {
	for _, s := range kept {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s) // a signal that is caught is not ignored in a child
		}
	}
}
