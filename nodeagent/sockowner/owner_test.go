package sockowner

import (
	"errors"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// pair is a connection within this process: its accepted end and its dialled one.
func pair(t *testing.T) (accepted, dialled *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	a, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); d.Close() })
	return a.(*net.TCPConn), d.(*net.TCPConn)
}

func of(t *testing.T, c *net.TCPConn) (Owner, error) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var owner Owner
	var ownerErr error
	if err := raw.Control(func(fd uintptr) { owner, ownerErr = Of(int(fd)) }); err != nil {
		t.Fatal(err)
	}
	return owner, ownerErr
}

func inode(t *testing.T, c *net.TCPConn) (n uint64) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = raw.Control(func(fd uintptr) {
		var stat unix.Stat_t
		if err := unix.Fstat(int(fd), &stat); err != nil {
			t.Fatal(err)
		}
		n = stat.Ino
	})
	return n
}

func TestOwnerOfTheOtherEnd(t *testing.T) {
	accepted, dialled := pair(t)
	owner, err := of(t, accepted)
	if err != nil || owner.UID != uint32(os.Geteuid()) || owner.Inode != inode(t, dialled) {
		t.Fatalf("%+v, %v; the socket has inode %d", owner, err, inode(t, dialled))
	}
	if !Holds(os.Getpid(), owner.Inode) {
		t.Error("this process holds it")
	}
	if Holds(os.Getppid(), owner.Inode) || Holds(-1, owner.Inode) || Holds(os.Getpid(), 1) {
		t.Error("nobody else holds it")
	}
}

func TestClosedEndHasNoOwner(t *testing.T) {
	accepted, dialled := pair(t)
	dialled.Close()
	if owner, err := of(t, accepted); !errors.Is(err, ErrUnknown) {
		t.Errorf("%+v, %v", owner, err)
	}
}

func TestNotTCP(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	if _, err := Of(fds[0]); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(make([]byte, headerLen+replyLen))
	f.Fuzz(func(t *testing.T, reply []byte) {
		if owner, err := read(reply); err == nil && owner.Inode == 0 {
			t.Error("an owner without a socket")
		}
	})
}
