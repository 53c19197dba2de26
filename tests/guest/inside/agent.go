package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"score/tests/guest/wire"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// agent runs commands for the test.
type agent struct {
	conn *wire.Conn

	mu      sync.Mutex
	running map[uint32]int // process groups
}

// openConsole opens a terminal for bytes as they are.
func openConsole(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	raw := unix.Termios{Cflag: unix.CS8 | unix.CREAD | unix.CLOCAL}
	raw.Cc[unix.VMIN] = 1
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &raw); err != nil {
		return nil, fmt.Errorf("set %s: %w", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// serve runs commands until the test goes away.
func serve(console string) {
	stream, err := openConsole(console)
	if err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		return
	}
	a := &agent{conn: wire.NewConn(stream), running: map[uint32]int{}}
	_ = a.conn.Send(wire.Frame{Kind: wire.Up})
	for {
		f, err := a.conn.Receive()
		if err != nil {
			fmt.Fprintln(os.Stderr, "guest:", err)
			return
		}
		switch f.Kind {
		case wire.Run:
			a.start(f)
		case wire.Stop:
			a.stop(f.Command)
		case wire.PowerOff:
			powerOff()
		default: // the test's side says nothing else
		}
	}
}

// start starts a command, and answers when it ends.
func (a *agent) start(f wire.Frame) {
	c := &started{Cmd: exec.Command("/bin/sh", "-c", string(f.Payload))}
	c.Env, c.Dir = environment, "/"
	c.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := c.start(&output{a, f.Command, wire.Stdout}, &output{a, f.Command, wire.Stderr}); err != nil {
		_, _ = fmt.Fprintln(&output{a, f.Command, wire.Stderr}, err)
		_ = a.conn.Send(wire.Frame{Command: f.Command, Kind: wire.Exit, Payload: []byte{127}})
		return
	}
	a.running[f.Command] = c.Process.Pid
	go a.await(f.Command, c)
}

func (a *agent) await(number uint32, c *started) {
	status := 0
	var exit *exec.ExitError
	if err := c.wait(); errors.As(err, &exit) {
		status = exit.ExitCode()
		if wait, ok := exit.Sys().(syscall.WaitStatus); ok && wait.Signaled() {
			status = 128 + int(wait.Signal())
		}
	} else if err != nil {
		status = 126
	}
	a.mu.Lock()
	delete(a.running, number)
	a.mu.Unlock()
	_ = a.conn.Send(wire.Frame{Command: number, Kind: wire.Exit, Payload: []byte{byte(status)}})
}

func (a *agent) stop(number uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if pid, ok := a.running[number]; ok {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
}

// output sends what a command writes.
type output struct {
	agent   *agent
	command uint32
	kind    wire.Kind
}

var _ io.Writer = (*output)(nil)

func (o *output) Write(data []byte) (int, error) {
	for rest := data; len(rest) > 0; {
		n := min(len(rest), wire.MaxPayload)
		if err := o.agent.conn.Send(wire.Frame{Command: o.command, Kind: o.kind, Payload: rest[:n]}); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(data), nil
}
