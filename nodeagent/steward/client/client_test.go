package client

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"score/nodeagent/steward/stewardpb"
	"score/nodeagent/steward/wire"
	"score/tests/socketdir"
	"slices"
	"testing"
	"time"
)

// answering listens at a socket and gives each connection to serve.
func answering(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	path := filepath.Join(socketdir.Make(t), "sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve(conn)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return path
}

func frame(t *testing.T, m *stewardpb.FromSteward) []byte {
	t.Helper()
	b, err := wire.Append(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNobodyListens(t *testing.T) {
	socket := Socket(socketdir.Make(t), 0)
	ctx := context.Background()
	if _, _, err := Dial(ctx, socket, Events{}); !errors.Is(err, ErrGone) {
		t.Errorf("Dial: %v", err)
	}
	if _, err := DialStdio(ctx, socket, 0, 0); !errors.Is(err, ErrGone) {
		t.Errorf("DialStdio: %v", err)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	for name, answer := range map[string][]byte{
		"hangs up":       nil,
		"no status":      frame(t, &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Drained{Drained: true}}),
		"not a message":  {3, 0xff, 0xff, 0xff},
		"much too large": {0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
	} {
		t.Run(name, func(t *testing.T) {
			socket := answering(t, func(c net.Conn) {
				c.Read(make([]byte, 64)) // its Open
				c.Write(answer)
				c.Close()
			})
			if conn, _, err := Dial(context.Background(), socket, Events{}); err == nil {
				conn.Close()
				t.Error("no error")
			}
		})
	}
}

func TestEventsEndWithTheReason(t *testing.T) {
	status := frame(t, &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Status{Status: &stewardpb.Status{JobId: 9}}})
	for _, tt := range []struct {
		name string
		ours bool // this side closes
	}{{"the steward ends", false}, {"closed here", true}} {
		t.Run(tt.name, func(t *testing.T) {
			conns := make(chan net.Conn, 1)
			socket := answering(t, func(c net.Conn) {
				c.Write(status)
				conns <- c
			})
			closed := make(chan error, 1)
			conn, s, err := Dial(context.Background(), socket, Events{Closed: func(err error) { closed <- err }})
			if err != nil || s.GetJobId() != 9 {
				t.Fatalf("status %v, %v", s, err)
			}
			other := <-conns
			if tt.ours {
				conn.Close()
			}
			other.Close()
			if err := <-closed; tt.ours != (err == nil) || err != nil && !errors.Is(err, ErrGone) {
				t.Errorf("closed with %v", err)
			}
			conn.Close() // again does no harm
			if err := conn.Launch(); !errors.Is(err, ErrGone) {
				t.Errorf("Launch on a closed connection: %v", err)
			}
		})
	}
}

func TestSlots(t *testing.T) {
	dir := socketdir.Make(t)
	for _, name := range []string{"s-3.sock", "s-12.sock", "s-.sock", "s-x.sock", "s--1.sock", "other.sock", "s-4"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Slots(dir)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, []int{3, 12}) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := Slots(filepath.Join(dir, "none")); err == nil {
		t.Error("no error for a directory that is not there")
	}
}

func TestStartOfAProgramThatEnds(t *testing.T) {
	dir := socketdir.Make(t)
	p, err := Start(Slot{Exe: "/bin/false", RunDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	if _, _, err := Dial(context.Background(), p.Socket, Events{}); !errors.Is(err, ErrGone) {
		t.Errorf("Dial: %v", err)
	}
	p.Kill()
	if _, err := os.Stat(p.Socket); err == nil {
		t.Error("the socket is left")
	}
	if _, err := Start(Slot{Exe: filepath.Join(dir, "none"), RunDir: dir, Number: 1}); err == nil {
		t.Error("no error for a program that is not there")
	}
	if _, err := os.Stat(Socket(dir, 1)); err == nil {
		t.Error("its socket is left")
	}
}

func TestNextTakesOver(t *testing.T) {
	got := make(chan []byte, 1)
	socket := answering(t, func(conn net.Conn) {
		defer conn.Close()
		buffer := make([]byte, 1<<10)
		if _, err := conn.Read(buffer); err != nil { // Open
			return
		}
		_, _ = conn.Write(frame(t, &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Status{Status: &stewardpb.Status{}}}))
		n, _ := conn.Read(buffer)
		got <- buffer[:n]
	})
	closed := make(chan error, 1)
	first, _, err := Dial(context.Background(), socket, Events{
		Message: func(*stewardpb.FromSteward) {}, Closed: func(err error) { closed <- err },
	})
	if err != nil {
		t.Fatal(err)
	}
	next := first.Next()
	for name, send := range map[string]func() error{
		"Kill": first.Kill, "Launch": first.Launch, "Forget": first.Forget, "Recycle": first.Recycle,
		"Signal": func() error { return first.Signal(15) },
	} {
		if err := send(); !errors.Is(err, ErrGone) {
			t.Errorf("%s of the last job: %v", name, err)
		}
	}
	if err := next.Signal(10); err != nil {
		t.Fatal(err)
	}
	want, err := wire.Append(nil, &stewardpb.ToSteward{Message: &stewardpb.ToSteward_Signal{Signal: 10}})
	if err != nil {
		t.Fatal(err)
	}
	if first := <-got; !slices.Equal(first, want) {
		t.Errorf("the steward got %x, want %x", first, want)
	}
	<-closed
	first.Close() // of either closes both
	next.Close()
}

// One large message takes no memory once it is written.
func TestLargeMessageIsNotKept(t *testing.T) {
	socket := answering(t, func(conn net.Conn) {
		_, _ = conn.Write(frame(t, &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Status{Status: &stewardpb.Status{}}}))
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
	})
	conn, _, err := Dial(t.Context(), socket, Events{Message: func(*stewardpb.FromSteward) {}, Closed: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, size := range []int{10, 8 << 20} {
		if err := conn.Relay(&stewardpb.Relay{Data: make([]byte, size)}); err != nil {
			t.Fatal(err)
		}
		if kept := cap(conn.shared.stream.out); kept > wire.KeepSize || (kept == 0) == (size == 10) {
			t.Errorf("after a message of %d bytes %d are kept", size, kept)
		}
	}
}
