package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"score/tests/guest/wire"
	"sync"
)

// Result is what a command did.
type Result struct {
	Stdout, Stderr string
	Code           int // 128 and the signal if one ended it
}

// running is a guest from one boot to its end.
type running struct {
	command *exec.Cmd
	stream  *os.File
	conn    *wire.Conn
	up      chan error    // gets one answer
	done    chan struct{} // closed after the guest has ended
	work    sync.WaitGroup

	mu    sync.Mutex
	last  uint32
	calls map[uint32]*call
}

// call is a command that runs.
type call struct {
	stdout, stderr bytes.Buffer
	code           int
	ended          chan struct{}
}

func newRunning(command *exec.Cmd, stream *os.File) *running {
	r := &running{
		command: command, stream: stream, conn: wire.NewConn(stream), up: make(chan error, 1), done: make(chan struct{}),
		calls: map[uint32]*call{},
	}
	r.work.Go(r.receive)
	r.work.Go(func() {
		_ = command.Wait() // however it ended
		close(r.done)
	})
	return r
}

func (r *running) awaitUp(ctx context.Context) error {
	select {
	case err := <-r.up:
		return err
	case <-r.done:
		return ErrDead
	case <-ctx.Done():
		return ctx.Err()
	}
}

// kill ends the guest and waits for that.
func (r *running) kill() error {
	err := r.command.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-r.done
	r.stream.Close()
	r.work.Wait()
	return err
}

func (r *running) receive() {
	for {
		f, err := r.conn.Receive()
		if err != nil {
			return
		}
		switch f.Kind {
		case wire.Up:
			r.answer(nil)
		case wire.Failed:
			r.answer(errors.New(string(f.Payload)))
		default:
			r.deliver(f)
		}
	}
}

func (r *running) answer(err error) {
	select {
	case r.up <- err:
	default:
	}
}

func (r *running) deliver(f wire.Frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[f.Command]
	if c == nil {
		return
	}
	switch f.Kind {
	case wire.Stdout:
		c.stdout.Write(f.Payload)
	case wire.Stderr:
		c.stderr.Write(f.Payload)
	case wire.Exit:
		if len(f.Payload) == 1 {
			c.code = int(f.Payload[0])
		}
		delete(r.calls, f.Command)
		close(c.ended)
	default: // the guest says nothing else of a command
	}
}

// Run runs a shell command as root in the guest, and waits for its end. Of processes that it leaves
// behind nothing is heard. When ctx ends, the command's process group is killed.
func (g *Guest) Run(ctx context.Context, shell string) (Result, error) {
	r, err := g.current()
	if err != nil {
		return Result{}, err
	}
	c := &call{ended: make(chan struct{})}
	r.mu.Lock()
	r.last++
	number := r.last
	r.calls[number] = c
	r.mu.Unlock()
	if err := r.conn.Send(wire.Frame{Command: number, Kind: wire.Run, Payload: []byte(shell)}); err != nil {
		return Result{}, fmt.Errorf("%s: %w", g.Name, err)
	}
	select {
	case <-c.ended:
		return Result{c.stdout.String(), c.stderr.String(), c.code}, nil
	case <-r.done:
		err = ErrDead
	case <-ctx.Done():
		err = ctx.Err()
		_ = r.conn.Send(wire.Frame{Command: number, Kind: wire.Stop})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, number)
	return Result{c.stdout.String(), c.stderr.String(), -1}, fmt.Errorf("%s: %s: %w", g.Name, shell, err)
}
