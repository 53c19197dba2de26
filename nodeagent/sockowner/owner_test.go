package sockowner

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// pair is a connection within this process: its accepted end and its dialled one.
func pair(t testing.TB) (accepted, dialled *net.TCPConn) {
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

// of asks who has the other end.
func of(t *testing.T, c *net.TCPConn) (Owner, error) {
	t.Helper()
	a, err := NewResolver()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	return a.Owner(address(c.RemoteAddr()), address(c.LocalAddr()))
}

func address(a net.Addr) *unix.SockaddrInet4 {
	at := a.(*net.TCPAddr)
	return &unix.SockaddrInet4{Port: at.Port, Addr: [4]byte(at.IP.To4())}
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
	if Hides(os.Getpid()) || Hides(-1) {
		t.Error("a process hides that shows its descriptors, or is not there")
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

func TestAskedAgain(t *testing.T) {
	a, err := NewResolver()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for range 3 {
		accepted, dialled := pair(t)
		for _, c := range []*net.TCPConn{accepted, dialled} {
			other := map[*net.TCPConn]*net.TCPConn{accepted: dialled, dialled: accepted}[c]
			owner, err := a.Owner(address(c.RemoteAddr()), address(c.LocalAddr()))
			if err != nil || owner.Inode != inode(t, other) {
				t.Fatalf("%+v, %v; the socket has inode %d", owner, err, inode(t, other))
			}
		}
		nobody := &unix.SockaddrInet4{Port: 1, Addr: [4]byte{127, 0, 0, 1}}
		if owner, err := a.Owner(nobody, address(accepted.LocalAddr())); !errors.Is(err, ErrUnknown) {
			t.Fatalf("%+v, %v", owner, err)
		}
	}
}

// TestGroup compares with the directory of this process's own control group.
func TestGroup(t *testing.T) {
	line, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skip(err)
	}
	var stat unix.Stat_t
	for text := range strings.Lines(string(line)) {
		path, v2 := strings.CutPrefix(strings.TrimSpace(text), "0::")
		if !v2 || unix.Stat("/sys/fs/cgroup/unified"+path, &stat) != nil && unix.Stat("/sys/fs/cgroup"+path, &stat) != nil {
			continue
		}
		accepted, _ := pair(t)
		if owner, err := of(t, accepted); err != nil || owner.Group != stat.Ino {
			t.Fatalf("%+v, %v; the group is %d", owner, err, stat.Ino)
		}
		return
	}
	t.Skip("there are no v2 control groups here")
}

func BenchmarkOf(b *testing.B) {
	a, err := NewResolver()
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	accepted, _ := pair(b)
	from, to := address(accepted.RemoteAddr()), address(accepted.LocalAddr())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Owner(from, to); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHolds(b *testing.B) {
	accepted, dialled := pair(b)
	a, err := NewResolver()
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	owner, err := a.Owner(address(accepted.RemoteAddr()), address(accepted.LocalAddr()))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if !Holds(os.Getpid(), owner.Inode) {
			b.Fatal("not held")
		}
	}
	_ = dialled
}

func FuzzRead(f *testing.F) {
	f.Add(make([]byte, headerLen+replyLen))
	with := make([]byte, headerLen+replyLen+2*attributeLen+groupIDLen)
	binary.NativeEndian.PutUint16(with[4:], byFamily)
	with[headerLen+replyInode] = 1
	binary.NativeEndian.PutUint16(with[headerLen+replyLen:], attributeLen)
	binary.NativeEndian.PutUint16(with[headerLen+replyLen+attributeLen:], attributeLen+groupIDLen)
	binary.NativeEndian.PutUint16(with[headerLen+replyLen+attributeLen+2:], groupID)
	f.Add(with)
	f.Fuzz(func(t *testing.T, reply []byte) {
		if owner, err := read(reply); err == nil && owner.Inode == 0 {
			t.Error("an owner without a socket")
		}
	})
}
