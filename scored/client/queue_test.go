package client_test

import (
	"context"
	"errors"
	"path/filepath"
	"score/scored/client"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fullSocket returns a listening socket whose queue of connections is full.
func fullSocket(t *testing.T) (fd int, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	fd = unixSocket(t)
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, 1)); err != nil {
		t.Fatal(err)
	}
	for {
		switch err := unix.Connect(unixSocket(t), &unix.SockaddrUnix{Name: path}); {
		case errors.Is(err, unix.EAGAIN):
			return fd, path
		case err != nil:
			t.Fatal(err)
		}
	}
}

func unixSocket(t *testing.T) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// While others' connections fill the queue of the daemon's socket, a program waits for its turn.
func TestDialWaitsWhileTheQueueIsFull(t *testing.T) {
	fd, path := fullSocket(t)
	choice := client.Choice{Socket: path, Origin: "--cluster"}
	for _, chosen := range []client.Choice{choice, {System: path}} {
		short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := client.Dial(short, chosen)
		if cancel(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with the queue full: %v", err)
		}
	}
	accepted, _, err := unix.Accept(fd)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(accepted)
	c, err := client.Dial(t.Context(), choice)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
