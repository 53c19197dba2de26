package scm_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"score/channels/scm"
	"testing"

	"golang.org/x/sys/unix"
)

// Who connects to a socket that refuses descriptors cannot send one, but gets some.
func TestRefuse(t *testing.T) {
	const passRights = 83
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	refuses := scm.Refuse(listener)
	client, err := net.DialUnix("unix", nil, listener.Addr().(*net.UnixAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := listener.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	rights := unix.UnixRights(int(os.Stderr.Fd()))
	if _, _, err := server.WriteMsgUnix([]byte("a"), rights, nil); err != nil {
		t.Errorf("a descriptor for the client: %v", err)
	}
	_, _, err = client.WriteMsgUnix([]byte("a"), rights, nil)
	if err == nil {
		raw, _ := client.SyscallConn() // it is open
		_ = raw.Control(func(fd uintptr) {
			if _, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, passRights); errors.Is(err, unix.ENOPROTOOPT) {
				t.Skip("the kernel is older than 6.16")
			}
		})
	}
	if !refuses || !errors.Is(err, unix.EPERM) {
		t.Errorf("a descriptor for the server: %v; refused: %v", err, refuses)
	}
	if _, err := client.Write([]byte("b")); err != nil {
		t.Errorf("bytes for the server: %v", err)
	}
}
