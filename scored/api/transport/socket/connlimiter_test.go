package socket

import (
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"
)

// patience bounds every wait of a test for something that must happen.
const patience = 60 * time.Second

// TestConnLimiter: a user has so many connections and no more, and another when one is closed.
func TestConnLimiter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := Listen("socket", path, Everybody)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c := NewConnLimiter(listener, 2, zap.NewNop())
	taken := make(chan net.Conn)
	go func() {
		for {
			conn, err := c.Accept()
			if err != nil {
				return
			}
			taken <- conn
		}
	}()
	dial := func() net.Conn {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	dial()
	dial()
	first := <-taken
	<-taken
	third := dial()
	_ = third.SetDeadline(time.Now().Add(patience))
	if _, err := third.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a third connection: %v", err)
	}
	first.Close()
	first.Close() // counts once
	dial()
	<-taken
	fourth := dial()
	_ = fourth.SetDeadline(time.Now().Add(patience))
	if _, err := fourth.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a fourth connection: %v", err)
	}
}
