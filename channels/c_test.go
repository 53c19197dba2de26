package channels

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"score/channels/abi"
	"syscall"
	"testing"
	"time"
)

// TestProgramInC exchanges messages with a rank that knows nothing but the C header.
func TestProgramInC(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	program := filepath.Join(t.TempDir(), "echo")
	if text, err := exec.Command(cc, "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, "testdata/echo.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	runtime.LockOSThread() // its parent, as far as the signal of death goes
	defer runtime.UnlockOSThread()
	mine, its := newImage(t, 2, abi.Geometry{}), rankImage(t, 1, 2, abi.Geometry{})
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it polls for ever: it must not outlive a killed test
	cmd.ExtraFiles = []*os.File{its.File(), mine.File()}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in, _ := mine.Inbox(nil)
	out, err := its.Sender(0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 400 { // each some switches of processes, where there are more than CPUs
		length := 1 + i*37%3000
		if i%20 == 0 {
			length = 1 + i*311%65536
		}
		echoed(t, in, out, text(i, length))
		if i%100 == 50 && (!out.open || !out.GiveBack()) { // it goes on without a lane, and opens one again
			t.Fatalf("message %d: no lane to give back", i)
		}
	}
	echoed(t, in, out, nil) // its sign to end
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

// echoed sends a message and expects it back.
func echoed(t *testing.T, in *Inbox, out *Sender, want []byte) {
	t.Helper()
	if err := out.Send(want); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; {
		if m, ok := in.Poll(); ok {
			if m.Rank() != 1 || !bytes.Equal(m.Head(), want) {
				t.Fatalf("rank %d: %d bytes, want %d", m.Rank(), m.Len(), len(want))
			}
			if err := in.Release(m); err != nil {
				t.Fatal(err)
			}
			return
		}
		Nap()
		if time.Now().After(end) {
			t.Fatal("no answer")
		}
	}
}
