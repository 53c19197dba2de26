package socket_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"score/channels/scm"
	"score/scored/api/transport/socket"
	"testing"

	"golang.org/x/sys/unix"
)

// A user's descriptor never comes to a daemon, where closing it might hang.
func TestDescriptorsAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := socket.Listen("socket", path, socket.OnlyOwner)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, _, err = conn.WriteMsgUnix([]byte("a"), unix.UnixRights(int(os.Stderr.Fd())), nil); errors.Is(err, unix.EPERM) {
		return
	}
	if !scm.Refuse(conn) { // a socket of which the daemon's knows nothing
		t.Skip("the kernel is older than 6.16")
	}
	t.Errorf("a descriptor for the daemon: %v", err)
}

// A daemon whose queue of connections others keep full is not taken for a dead one.
func TestASocketWithAFullQueueIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		var conn net.Conn
		if conn, err = net.Dial("unix", path); err == nil {
			defer conn.Close()
		}
	}
	if _, err := socket.Listen("socket", path, socket.OnlyOwner); !errors.Is(err, socket.ErrListen) {
		t.Errorf("a second daemon listens: %v", err)
	}
}
