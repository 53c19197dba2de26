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
