package hostclock

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// variable has the number of the descriptor on which a launcher gives the listener, and
	// programVariable the path of its program.
	variable        = "SCORE_TEST_CLOCK"
	programVariable = variable + "_PROGRAM"
	// auditArch is AUDIT_ARCH_X86_64, and archPrctl the system call that a Go program makes first
	// there.
	auditArch = 0xc000003e
	archPrctl = 158
	// archAt and callNumberAt are in struct seccomp_data.
	callNumberAt, archAt = 0, 4
)

// notStarted is the exit code of a launcher that could not begin the program, as in shells.
const notStarted = 127

// filter has the supervisor asked at that call, and lets all others pass.
var filter = []unix.SockFilter{
	{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: archAt},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 3, K: auditArch},
	{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: callNumberAt},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: archPrctl},
	{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
	{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
}

// Main runs this process as Start's child if Start began it; it never returns then. Every program
// that calls Start must call it first.
func Main() {
	text := os.Getenv(variable)
	if text == "" {
		return
	}
	socket, err := strconv.Atoi(text)
	if err == nil {
		unix.CloseOnExec(socket)
		err = launch(socket)
		// The error is for the process that waits.
		_ = unix.Sendmsg(socket, []byte(err.Error()), nil, nil, 0)
	}
	os.Exit(notStarted)
}

// launch becomes the program.
func launch(socket int) error {
	runtime.LockOSThread() // the thread that becomes the program has the filter
	if runtime.GOARCH != "amd64" {
		return ErrUnsupported
	}
	program := os.Getenv(programVariable)
	var environ []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, variable) {
			environ = append(environ, v)
		}
	}
	listener, err := install(filter)
	if err != nil {
		return err
	}
	if err := unix.Sendmsg(socket, []byte{0}, unix.UnixRights(listener), nil, 0); err != nil {
		return err
	}
	return unix.Exec(program, os.Args, environ)
}
