package launch

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ExitStatus is the end of a process: by itself with Code, or by Signal.
type ExitStatus struct {
	Code       int         // 0 when Signal is set
	Signal     unix.Signal // 0 when it exited
	CoreDumped bool
}

func statusOf(ws unix.WaitStatus) ExitStatus {
	if ws.Signaled() {
		return ExitStatus{Signal: ws.Signal(), CoreDumped: ws.CoreDump()}
	}
	return ExitStatus{Code: ws.ExitStatus()}
}

// String returns the end in words that can follow "rank 3": "exited with code 1".
func (s ExitStatus) String() string {
	if s.Signal == 0 {
		return fmt.Sprintf("exited with code %d", s.Code)
	}
	core := ""
	if s.CoreDumped {
		core = ", core dumped"
	}
	name := unix.SignalName(s.Signal)
	if name == "" {
		return fmt.Sprintf("was killed by signal %d%s", int(s.Signal), core)
	}
	return fmt.Sprintf("was killed by signal %d (%s)%s", int(s.Signal), name, core)
}
