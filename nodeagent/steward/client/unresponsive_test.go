package client

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestKillUnresponsive: a user whose socket's name shows another process's socket as that of a slot
// does not have that process killed, and the slot's steward is.
func TestKillUnresponsive(t *testing.T) {
	slot := Slot{RunDir: t.TempDir(), Number: 3, Cluster: "c", Node: "n1"}
	listener, err := listen(Socket(slot.RunDir, slot.Number))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(listener.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	other := slot
	other.Number = 4
	forged, err := net.Listen("unix", fmt.Sprintf("@%d\n0: 00000002 00000000 00010000 0001 01 %d %s", os.Getpid(), st.Ino, Socket(slot.RunDir, other.Number)))
	if err != nil {
		t.Fatal(err)
	}
	defer forged.Close()
	if got := listeners(Socket(slot.RunDir, other.Number)); len(got) != 1 || got[0] != st.Ino {
		t.Fatalf("the forged line is not read: %v", got)
	}
	if err := os.WriteFile(filepath.Join(slot.RunDir, "steward"), []byte("read line"), 0o600); err != nil {
		t.Fatal(err)
	}
	steward := exec.Command("/bin/sh", slot.arguments()...) // the script "steward"
	steward.Dir, steward.ExtraFiles = slot.RunDir, []*os.File{listener}
	input, err := steward.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	if err := steward.Start(); err != nil {
		t.Fatal(err)
	}
	KillUnresponsive(other)
	if err := steward.Process.Signal(unix.Signal(0)); err != nil || isZombie(t, steward.Process.Pid) {
		t.Errorf("another process was killed: %v", err)
	}
	KillUnresponsive(slot)
	if err := steward.Wait(); err == nil || steward.ProcessState.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
		t.Errorf("the steward ended so: %v", err)
	}
}

// isZombie reports whether a child has ended.
func isZombie(t *testing.T, pid int) bool {
	t.Helper()
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	return info.Signo != 0
}
