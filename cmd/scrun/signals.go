package main

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// signalQueue is the number of signals that wait while one is being forwarded. Further ones are
// dropped, as the kernel also merges pending signals.
const signalQueue = 16

// forwarded are the signals that go to the ranks instead of scrun. Job control (TSTP, TTIN, TTOU)
// and the window's size stay between scrun and its shell.
var forwarded = []os.Signal{
	unix.SIGHUP, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGCONT,
}

// catchSignals returns a channel that delivers ^C and the signals that scrun forwards. A signal
// that was ignored when scrun started (nohup, a shell's background job) stays ignored. With SIGPIPE
// caught, a broken pipe is an error of the write and does not end scrun.
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

// isForegroundOf reports whether this process is in the foreground of a terminal.
func isForegroundOf(terminal *os.File) (bool, error) {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return group == unix.Getpgrp(), err
}

// inForeground reports whether this process is in the foreground of its terminal, so that a SIGINT
// may be a ^C.
func inForeground() bool {
	terminal, err := os.OpenFile("/dev/tty", os.O_RDONLY|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer terminal.Close()
	foreground, err := isForegroundOf(terminal)
	return err == nil && foreground
}
