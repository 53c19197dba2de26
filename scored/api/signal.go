package api

// MaxSignal is SIGRTMAX, Linux's last signal.
const MaxSignal = 64
