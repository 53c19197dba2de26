package socket

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// A frame's head and body are two reads of HTTP/2 and one of the kernel. Nothing is lost at a
// deadline, nor at the end of what was sent.
func TestReadAhead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := Listen("socket", path, Everybody)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := NewConnLimiter(listener, 1, zap.NewNop()).Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(-time.Second))
	if _, err := conn.Read(make([]byte, 4)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("after the deadline: %v", err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := client.Write([]byte("headbody")); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 4)
	if _, err := io.ReadFull(conn, head); err != nil || string(head) != "head" {
		t.Fatalf("read %q, %v", head, err)
	}
	if left := queued(t, conn); left != 0 {
		t.Errorf("%d bytes have to be read by another system call", left)
	}
	client.Close()
	body, err := io.ReadAll(conn)
	if err != nil || string(body) != "body" {
		t.Errorf("read %q, %v", body, err)
	}
}

// queued returns how many bytes the kernel holds for a reader.
func queued(t *testing.T, conn net.Conn) (bytes int) {
	t.Helper()
	raw, err := conn.(*countedConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if controlErr := raw.Control(func(fd uintptr) { bytes, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }); controlErr != nil || err != nil {
		t.Fatal(controlErr, err)
	}
	return bytes
}
