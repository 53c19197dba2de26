package handover

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Source answers a request for an image with a file, which stays the source's, or with the
// reason why there is none. Serve calls it from one goroutine.
type Source func(Request) (*os.File, Status)

// Network answers a request for the way to other nodes with the socket of the asking rank's
// context and the job's place map, which stay the source's, or with the reason why there is none.
type Network func(channel uint32) (socket, places *os.File, status Status)

// Bulk answers a request for the socket for bulk datagrams of the asking rank's context, which
// stays the source's, or with the reason why there is none.
type Bulk func(channel uint32) (socket *os.File, status Status)

// Server answers ranks.
type Server struct {
	Image   Source
	Network Network // nil: all ranks are on this node
	Bulk    Bulk    // nil: as well
}

// Serve answers the requests of one rank until it hangs up or sends something
// else, and then closes the connection. Closing the connection ends it.
func (s Server) Serve(conn *net.UnixConn) {
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
		if err := s.answer(conn, request); err != nil {
			return
		}
	}
}

func (s Server) answer(conn *net.UnixConn, request Request) error {
	switch {
	case request.Network && s.Network != nil:
		socket, places, status := s.Network(request.Channel)
		return send(conn, status, socket, places)
	case request.Bulk && s.Bulk != nil:
		socket, status := s.Bulk(request.Channel)
		return send(conn, status, socket)
	case request.Network || request.Bulk:
		return send(conn, StatusAlone)
	default:
		file, status := s.Image(request)
		return send(conn, status, file)
	}
}

// send sends an answer, and the files if it is StatusOK.
func send(conn *net.UnixConn, status Status, files ...*os.File) error {
	packet := status.encode()
	if status != StatusOK {
		_, _, err := conn.WriteMsgUnix(packet[:], nil, nil)
		return err
	}
	return withDescriptors(files, nil, func(fds []int) error {
		_, _, err := conn.WriteMsgUnix(packet[:], unix.UnixRights(fds...), nil)
		return err
	})
}

// withDescriptors calls f with the files' descriptors, which stay open meanwhile. Unlike
// File.Fd it leaves a socket in its mode, which its other users share.
func withDescriptors(files []*os.File, fds []int, f func([]int) error) error {
	if len(files) == 0 {
		return f(fds)
	}
	raw, err := files[0].SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = raw.Control(func(fd uintptr) { inner = withDescriptors(files[1:], append(fds, int(fd)), f) })
	return errors.Join(err, inner)
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
