package handover

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Source answers a request with a file, which stays the source's, or with the
// reason why there is none. Serve calls it from one goroutine.
type Source func(Request) (*os.File, Status)

// Serve answers the requests of one rank until it hangs up or sends something
// else, and then closes the connection. Closing the connection ends it.
func Serve(conn *net.UnixConn, source Source) {
	defer func() { _ = conn.Close() }()
	var buf [requestBytes + 1]byte
	for {
		n, err := conn.Read(buf[:])
		if err != nil {
			return
		}
		request, err := decodeRequest(buf[:n])
		if err != nil {
			return
		}
		file, status := source(request)
		if err := answer(conn, file, status); err != nil {
			return
		}
	}
}

func answer(conn *net.UnixConn, file *os.File, status Status) error {
	packet := status.encode()
	var rights []byte
	if status == StatusOK {
		rights = unix.UnixRights(int(file.Fd()))
	}
	_, _, err := conn.WriteMsgUnix(packet[:], rights, nil)
	return err
}

// Pair makes a connected pair: the daemon's end, and the file to hand to the rank.
func Pair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	mine, theirs := os.NewFile(uintptr(fds[0]), "handover"), os.NewFile(uintptr(fds[1]), "handover-rank")
	conn, err := Conn(mine)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return conn, theirs, nil
}

// Conn makes a connection of a socket, and closes the file.
func Conn(file *os.File) (*net.UnixConn, error) {
	defer file.Close()
	c, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, errPacket
	}
	return conn, nil
}
