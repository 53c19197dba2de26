package main

import (
	"io"
	"os"
	"os/exec"
	"score/tests/guest/wire"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lateOutput is how long the output of processes is read that a command leaves behind.
	lateOutput = 100 * time.Millisecond
	// pipeSize is how much a pipe holds.
	pipeSize = 1 << 16
)

// started is a command. What it has written before its end is read, however long that takes on a
// busy machine; the WaitDelay of os/exec would drop it.
type started struct {
	*exec.Cmd
	pipes []*os.File
	copy  sync.WaitGroup
}

func (s *started) start(stdout, stderr io.Writer) error {
	out, err := s.pipe(stdout)
	if err != nil {
		return err
	}
	defer out.Close()
	diagnostics, err := s.pipe(stderr)
	if err != nil {
		return err
	}
	defer diagnostics.Close()
	s.Stdout, s.Stderr = out, diagnostics
	return s.Start()
}

// pipe returns where the command writes what goes to another writer.
func (s *started) pipe(to io.Writer) (*os.File, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.pipes = append(s.pipes, read)
	s.copy.Go(func() {
		defer read.Close()
		if _, err := io.Copy(to, read); err != nil { // the deadline that wait sets
			drain(to, read)
		}
	})
	return write, nil
}

// wait waits for the command's end, and for its output.
func (s *started) wait() error {
	err := s.Wait()
	for _, p := range s.pipes {
		_ = p.SetReadDeadline(time.Now().Add(lateOutput)) // fails after the output's end
	}
	s.copy.Wait()
	return err
}

// drain copies what is in a pipe, and does not wait for more.
func drain(to io.Writer, from *os.File) {
	if from.SetReadDeadline(time.Time{}) != nil {
		return
	}
	raw, err := from.SyscallConn()
	if err != nil {
		return
	}
	buffer := make([]byte, wire.MaxPayload)
	_ = raw.Read(func(fd uintptr) bool {
		for copied := 0; copied < pipeSize; {
			n, err := unix.Read(int(fd), buffer)
			if n <= 0 || err != nil {
				break
			}
			_, _ = to.Write(buffer[:n])
			copied += n
		}
		return true
	})
}
