// Package tracer holds processes of tests where they exit, as a debugger does that has stopped
// there: killed ones stand still too, and no further signal reaches them, until their tracer has
// ended.
package tracer

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"score/tests/child"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// variable makes a test's program the tracer of the process that it names.
const variable = "SCORE_TEST_TRACES"

// seize is PTRACE_SEIZE, which does not stop the process.
const seize = 0x4206

func init() {
	if pid, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		os.Exit(trace(pid))
	}
}

// trace traces a process, whose parent this process need not be, and continues it until it exits.
func trace(pid int) int {
	runtime.LockOSThread() // the tracer is a thread
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, seize, uintptr(pid), 0, unix.PTRACE_O_TRACEEXIT, 0, 0); errno != 0 {
		fmt.Println(errno)
		return 1
	}
	fmt.Println("traced")
	for {
		var status unix.WaitStatus
		tid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return 0
		case err != nil || !status.Stopped() || status.TrapCause() == unix.PTRACE_EVENT_EXIT:
		case status.StopSignal() == unix.SIGTRAP:
			_ = unix.PtraceCont(tid, 0) // it may have been killed
		default:
			_ = unix.PtraceCont(tid, int(status.StopSignal()))
		}
	}
}

// Hold traces a process from another one, with the user and group ids of a credential, from now on.
// The process that Hold returns is the tracer. It ends with the test.
func Hold(t testing.TB, pid int, user *syscall.Credential) *exec.Cmd {
	t.Helper()
	tracer := exec.Command("/proc/self/exe")
	tracer.Env = append(os.Environ(), variable+"="+strconv.Itoa(pid))
	tracer.SysProcAttr = &syscall.SysProcAttr{Credential: user, Pdeathsig: syscall.SIGKILL}
	if line := child.Start(t, tracer).Line(t); line != "traced" {
		t.Skip("no process can be traced here: ", line)
	}
	return tracer
}
