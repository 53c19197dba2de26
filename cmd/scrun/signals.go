package main

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// signalQueue holds signals that came while one was being passed on. More are
// dropped, as the kernel merges pending ones too.
const signalQueue = 16

// forwarded are the signals that reach the ranks instead of scrun. Job control
// (TSTP, TTIN, TTOU) and the window's size stay between scrun and its shell.
var forwarded = []os.Signal{
	unix.SIGHUP, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGCONT,
}

// catchSignals delivers ^C and the signals that scrun passes on. A signal that
// was ignored when scrun started (nohup, a shell's background job) stays
// ignored. A broken pipe becomes an error of the write instead of scrun's
// death.
func catchSignals() chan os.Signal {
	caught := make(chan os.Signal, signalQueue)
	for _, one := range append([]os.Signal{unix.SIGINT}, forwarded...) {
		if !signal.Ignored(one) {
			signal.Notify(caught, one)
		}
	}
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	return caught
}
