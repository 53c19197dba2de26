package guest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// leaveVariable makes TestGuestsEndWithTheirTest the test that is killed.
const leaveVariable = "SCORE_TEST_LEAVE_GUEST"

// TestGuestsEndWithTheirTest kills a test, as a time limit does, which has no time to clean up.
func TestGuestsEndWithTheirTest(t *testing.T) {
	if os.Getenv(leaveVariable) != "" {
		// Its init does not end with the agent's line to the test, as systemd does not.
		g := Start(patient(t), t, Options{Name: "left", Init: []string{"/bin/sleep", "1000"}})
		fmt.Println("\nguest", g.run.command.Process.Pid)
		<-t.Context().Done()
		return
	}
	if testing.Short() {
		t.Skip("boots guests")
	}
	command := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), leaveVariable+"=1", "TMPDIR="+t.TempDir())
	command.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	said, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}()
	var pid int
	for lines := bufio.NewScanner(said); pid == 0 && lines.Scan(); {
		if testing.Verbose() {
			t.Log(lines.Text())
		}
		_, _ = fmt.Sscanf(lines.Text(), "guest %d", &pid)
	}
	if pid == 0 {
		if err := command.Wait(); err != nil {
			t.Fatal(err)
		}
		t.Skip("no guest can be had, as the other test says")
	}
	guest, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(guest)
	if ended(t, guest, 0) {
		t.Fatal("the guest has ended before its test")
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if !ended(t, guest, patience) {
		_ = unix.PidfdSendSignal(guest, unix.SIGKILL, nil, 0)
		t.Error("the guest goes on without its test")
	}
}

// ended reports whether a process ends within the time.
func ended(t *testing.T, pidfd int, within time.Duration) bool {
	t.Helper()
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(within.Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return n > 0
	}
}
