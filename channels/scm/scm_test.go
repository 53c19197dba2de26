package scm_test

import (
	"os"
	"score/channels/scm"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRights(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	file, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	// Two control messages; one says who sends.
	sent := append(unix.UnixCredentials(&unix.Ucred{Pid: int32(os.Getpid()), Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid())}),
		unix.UnixRights(int(file.Fd()), int(file.Fd()))...)
	if err := unix.SetsockoptInt(pair[1], unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
		t.Fatal(err)
	}
	if err := unix.Sendmsg(pair[0], []byte{1}, sent, nil, 0); err != nil {
		t.Fatal(err)
	}
	control := make([]byte, 256)
	_, n, _, _, err := unix.Recvmsg(pair[1], make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	fds, err := scm.Rights(control[:n])
	if err != nil || len(fds) != 2 {
		t.Fatalf("descriptors %v, error %v", fds, err)
	}
	for _, fd := range fds {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("descriptor %d: flags %#x, error %v", fd, flags, err)
		}
		unix.Close(fd)
	}
	if fds, err := scm.Rights(nil); err != nil || fds != nil {
		t.Errorf("without control message: %v, %v", fds, err)
	}
	if _, err := scm.Rights([]byte{1, 2, 3}); err != nil {
		t.Errorf("less than a head is no message: %v", err)
	}
	if _, err := scm.Rights([]byte{200, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}); err == nil {
		t.Error("a message longer than what came")
	}
}
