package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"score/scored/api/scorev1"
	"score/tests/terminal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pumpVariable makes this test binary play TestBackground's child.
const pumpVariable = "SCORE_TEST_PUMP_IN_BACKGROUND"

// A terminal is left alone while another process group is in its foreground,
// and read once scrun is: it is neither stopped nor does it steal input.
func TestBackground(t *testing.T) {
	master, slave := terminal.Open(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), self)
	command.Env = append(os.Environ(), pumpVariable+"=1")
	command.Stdin = slave
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	var out strings.Builder
	command.Stdout, command.Stderr = &out, &out
	if _, err := master.WriteString("typed\n"); err != nil {
		t.Fatal(err)
	}
	if err := command.Run(); err != nil || out.String() != "typed\n" {
		t.Errorf("%v: %s", err, out.String())
	}
}

// pumpInBackground gives the foreground away, starts a pump, takes the
// foreground back, and prints what the pump got.
func pumpInBackground() int {
	other := exec.Command("sleep", "1000")
	other.Stdin = os.Stdin
	other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true}
	if err := other.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	var mayRead atomic.Bool
	got := make(chan string, 1)
	pump, err := startPump(os.Stdin, receiverFunc(func(input *scorev1.Stdin) error {
		if !mayRead.Load() {
			fmt.Println("read from the background")
		}
		got <- string(input.GetData())
		return nil
	}), nil)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	time.Sleep(20 * time.Millisecond) // time in which a wrong pump would read
	mayRead.Store(true)
	signal.Ignore(unix.SIGTTOU) // taking the foreground counts as output
	if err := unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, unix.Getpgrp()); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Print(<-got)
	pump.Stop()
	return 0
}

// A terminal that is not scrun's own has no foreground to wait for.
func TestOtherTerminal(t *testing.T) {
	master, slave := terminal.Open(t)
	got := make(chan string, 1)
	pump, err := startPump(slave, receiverFunc(func(input *scorev1.Stdin) error {
		got <- string(input.GetData())
		return nil
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer pump.Stop()
	if _, err := master.WriteString("typed\n"); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "typed\n" {
		t.Errorf("got %q", text)
	}
}
