package terminal

import (
	"testing"

	"golang.org/x/sys/unix"
)

// What a person types comes to the program, which is at a terminal.
func TestOpen(t *testing.T) {
	master, slave := Open(t)
	if _, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS); err != nil {
		t.Error("the program's side is no terminal:", err)
	}
	if _, err := master.WriteString("typed\n"); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 80)
	if n, err := slave.Read(line); err != nil || string(line[:n]) != "typed\n" {
		t.Errorf("the program reads %q, %v", line[:n], err)
	}
}
