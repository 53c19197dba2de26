// Package sigint lets programs that tests start be interrupted, whatever started the tests.
package sigint

import (
	"os"
	"os/signal"
)

// Allow has programs that this process starts from now on take SIGINT as usual, also where this one was started with it
// ignored (by nohup, or as a shell's background job): they would inherit that, scrun would keep to it, and a shell could
// set no trap.
func Allow() {
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt) // a signal that is caught is not ignored in a child
	}
}
