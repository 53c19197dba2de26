package display

import (
	"bytes"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A pipe that becomes non-blocking after it was opened takes all, however slow its reader is.
func TestNonblockingPipe(t *testing.T) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	reader, file := os.NewFile(uintptr(ends[0]), "reader"), os.NewFile(uintptr(ends[1]), "writer")
	defer reader.Close()
	if err := unix.SetNonblock(ends[1], true); err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("0123456789"), 100_000)
	written := make(chan error, 1)
	go func() {
		n, err := Patient(file).Write(want)
		if n != len(want) && err == nil {
			err = io.ErrShortWrite
		}
		file.Close()
		written <- err
	}()
	got, err := io.ReadAll(reader)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came of %d, or others: %v", len(got), len(want), err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}
