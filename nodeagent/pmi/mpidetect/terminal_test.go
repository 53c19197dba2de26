package mpidetect

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminalEnv makes the test binary one that leads a session without a terminal,
// as stewards do, and inspects a terminal.
const terminalEnv = "FAMILY_TEST_TERMINAL"

func TestMain(m *testing.M) {
	if path := os.Getenv(terminalEnv); path != "" {
		_, err := Inspect(path)
		stat, _ := os.ReadFile("/proc/self/stat")
		fmt.Println(err, strings.Fields(string(stat))[6])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A terminal that a user names as program does not become that of the steward.
func TestInspectedTerminalIsNotTaken(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer master.Close()
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	inspector := exec.Command("/proc/self/exe")
	inspector.Env = append(os.Environ(), fmt.Sprintf("%s=/dev/pts/%d", terminalEnv, number))
	inspector.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	output, err := inspector.CombinedOutput()
	if err != nil || string(output) != "<nil> 0\n" {
		t.Errorf("error and terminal: %s, %v", output, err)
	}
}
