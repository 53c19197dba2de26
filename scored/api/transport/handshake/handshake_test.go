package handshake

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// soon is much less than timeout, and much more than a handshake takes on a busy machine.
const soon = 3 * time.Second

// fake is a connection from an address.
type fake struct {
	net.Conn
	from   string
	closed bool
}

func (f *fake) Close() error { f.closed = true; return nil }
func (f *fake) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(f.from), Port: 1}
}

func TestTheOldestOfAnAddressGoes(t *testing.T) {
	w := Waiting{Max: 100, MaxPerAddress: 2}
	var conns [4]*fake
	var guests [4]*Pending
	for i := range conns {
		conns[i] = &fake{from: "10.0.0.1"}
		guests[i] = w.Add(conns[i])
	}
	other := &fake{from: "10.0.0.2"}
	w.Add(other)
	if !conns[0].closed || !conns[1].closed || conns[2].closed || conns[3].closed || other.closed {
		t.Error("not the two oldest of the address were closed")
	}
	if err := guests[0].Leave(); !errors.Is(err, ErrCrowded) {
		t.Errorf("one that was closed leaves with %v", err)
	}
	if err := guests[2].Leave(); err != nil || w.total != 2 {
		t.Errorf("one that was not leaves with %v, %d are left", err, w.total)
	}
}

func TestBusiestAddressIsEvicted(t *testing.T) {
	w := Waiting{Max: 4, MaxPerAddress: 100}
	few := &fake{from: "10.0.0.2"}
	w.Add(few)
	var many []*fake
	for range 3 {
		many = append(many, &fake{from: "10.0.0.1"})
		w.Add(many[len(many)-1])
	}
	w.Add(&fake{from: "10.0.0.3"})
	if few.closed || !many[0].closed || many[1].closed || w.total != 4 {
		t.Errorf("closed: %v of the first, %v and %v of the others; %d wait", few.closed, many[0].closed, many[1].closed, w.total)
	}
}

func TestANetworkCountsAsOneAddress(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"2001:db8::1", "2001:db8::2", true},
		{"2001:db8::1", "2001:db8:0:1::1", false},
		{"::ffff:10.0.0.1", "10.0.0.1", true},
		{"10.0.0.1", "10.0.0.2", false},
	} {
		a, b := origin((&fake{from: test.a}).RemoteAddr()), origin((&fake{from: test.b}).RemoteAddr())
		if (a == b) != test.same {
			t.Errorf("%s counts as %s, %s as %s", test.a, a, test.b, b)
		}
	}
}

// Silent connections, many of one address, keep nobody out who shows a certificate.
func TestSilentConnections(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cluster := pkitest.New(t, "lab")
	l := Listen(inner, cluster.Daemon(t, pki.Server, "s1").ServerSide("word", pki.Agent), zap.NewNop())
	silent := make([]net.Conn, 0, 2*maxPendingPerAddress)
	for range cap(silent) {
		conn, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		silent = append(silent, conn)
	}
	begin := time.Now()
	met := make(chan net.Conn, 1)
	go func() {
		conn, _ := l.Accept()
		met <- conn
	}()
	conn, err := cluster.Daemon(t, pki.Agent, "n1").Dial(t.Context(), inner.Addr().String(), "word", pki.Server)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	accepted := <-met
	if took := time.Since(begin); accepted == nil || !accepted.(*tls.Conn).ConnectionState().HandshakeComplete || took > soon {
		t.Errorf("a daemon is let in after %v: %v", took, accepted)
	}
	// The oldest silent one was closed, and so the others are bounded.
	_ = silent[0].SetDeadline(time.Now().Add(soon))
	if _, err := silent[0].Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("the oldest silent connection is still there: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// What strangers say fills no log.
func TestStrangersDoNotFillTheLog(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	core, logged := observer.New(zap.DebugLevel)
	l := Listen(inner, pkitest.New(t, "lab").Daemon(t, pki.Server, "s1").ServerSide("word", pki.Agent), zap.New(core))
	defer l.Close()
	const strangers = 200
	begin := time.Now()
	for range strangers {
		conn, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
		_ = conn.SetDeadline(time.Now().Add(soon))
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
	}
	seconds := int(time.Since(begin).Seconds()) + 2 // that were begun
	if n := logged.Len(); n == 0 || n > seconds*linesPerSecond {
		t.Errorf("%d lines for %d strangers in %d s", n, strangers, seconds)
	}
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}
