package handover

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// serveAll runs a whole server and returns the client's end.
func serveAll(t *testing.T, s Server) *net.UnixConn {
	t.Helper()
	server, file, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := Conn(file)
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() { s.Serve(server) })
	t.Cleanup(func() {
		conn.Close()
		done.Wait()
	})
	return conn
}

func memfd(t *testing.T, text string) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("handover-test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), text)
	t.Cleanup(func() { file.Close() })
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestNetwork(t *testing.T) {
	socket, places := memfd(t, "socket"), memfd(t, "places")
	client := NewClient(serveAll(t, Server{Network: func(channel uint32) (*os.File, *os.File, Status) {
		if channel != 33 {
			return nil, nil, Status(channel)
		}
		return socket, places, StatusOK
	}}))
	s, p, err := client.Network(33)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer p.Close()
	for want, file := range map[string]*os.File{"socket": s, "places": p} {
		got := make([]byte, 6)
		if _, err := file.ReadAt(got, 0); err != nil || string(got) != want {
			t.Errorf("got %q for %q: %v", got, want, err)
		}
	}
	for s, want := range map[Status]error{StatusAlone: ErrAlone, StatusExhausted: ErrExhausted, StatusGone: ErrGone} {
		if _, _, err := client.Network(uint32(s)); !errors.Is(err, want) {
			t.Errorf("status %d: %v, want %v", s, err, want)
		}
	}
}

// TestSingleNode: a server of one node says so.
func TestSingleNode(t *testing.T) {
	client := NewClient(serve(t, func(Request) (*os.File, Status) { return nil, StatusRank }))
	if _, _, err := client.Network(1); !errors.Is(err, ErrAlone) {
		t.Error(err)
	}
}

// TestNetworkOfAnother: a rank has no business on another's socket.
func TestNetworkOfAnother(t *testing.T) {
	conn := serveAll(t, Server{Network: func(uint32) (*os.File, *os.File, Status) {
		t.Error("answered")
		return nil, nil, StatusAlone
	}})
	packet := Request{Channel: 1, Rank: 2, Network: true}.encode()
	if _, err := conn.Write(packet[:]); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 100)); n != 0 || err == nil {
		t.Errorf("%d bytes in answer, %v", n, err)
	}
	packet = Request{Channel: 1, Rank: 2, Bulk: true}.encode()
	if r, err := decodeRequest(packet[:]); err == nil {
		t.Errorf("the bulk socket of another: %+v", r)
	}
}

// TestModeIsKept: handing a socket over does not make it a blocking one.
func TestModeIsKept(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	socket, other := os.NewFile(uintptr(fds[0]), "socket"), os.NewFile(uintptr(fds[1]), "other")
	t.Cleanup(func() { socket.Close(); other.Close() })
	places := memfd(t, "places")
	client := NewClient(serveAll(t, Server{Network: func(uint32) (*os.File, *os.File, Status) { return socket, places, StatusOK }}))
	s, p, err := client.Network(1)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	p.Close()
	if flags, err := unix.FcntlInt(uintptr(fds[0]), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK == 0 {
		t.Errorf("flags %#x, %v", flags, err)
	}
}

func TestDial(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ranks")
	if _, err := Dial(path); !errors.Is(err, ErrDial) {
		t.Errorf("nobody listens: %v", err)
	}
	listener, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var done sync.WaitGroup
	defer done.Wait()
	done.Go(func() {
		conn, err := listener.AcceptUnix()
		if err != nil {
			t.Error(err)
			return
		}
		who, err := Peer(conn)
		if err != nil || int(who.Pid) != os.Getpid() || int(who.Uid) != os.Getuid() {
			t.Errorf("%+v, %v", who, err)
		}
		Server{Image: func(r Request) (*os.File, Status) { return nil, StatusChannel }}.Serve(conn)
	})
	conn, err := Dial(path)
	if err != nil {
		t.Error(err)
		return
	}
	client := NewClient(conn)
	defer client.Close()
	if _, err := client.Image(1, Own); !errors.Is(err, ErrChannel) {
		t.Error(err)
	}
}

// TestBulk: the socket for bulk datagrams comes alone, and a server of one node has none.
func TestBulk(t *testing.T) {
	socket := memfd(t, "bulk")
	client := NewClient(serveAll(t, Server{Bulk: func(channel uint32) (*os.File, Status) {
		if channel != 33 {
			return nil, Status(channel)
		}
		return socket, StatusOK
	}}))
	s, err := client.Bulk(33)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := make([]byte, 4)
	if _, err := s.ReadAt(got, 0); err != nil || string(got) != "bulk" {
		t.Errorf("got %q: %v", got, err)
	}
	if _, err := client.Bulk(uint32(StatusExhausted)); !errors.Is(err, ErrExhausted) {
		t.Error(err)
	}
	if _, _, err := client.Network(1); !errors.Is(err, ErrAlone) {
		t.Error(err)
	}
}
