// Package devcluster runs `scored dev` for tests, benchmarks and the demo: it
// starts the program, waits until all nodes are up, and ends it in order.
//
//	cluster, err := devcluster.Start(ctx, devcluster.Options{Scored: "bin/scored", Socket: socket, Nodes: 2})
//	...
//	defer cluster.Stop()
package devcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"score/scored/api/scorev1"
	"score/scored/client"
	"slices"
	"strconv"
	"syscall"
	"time"

	"connectrpc.com/connect"
)

const (
	// patience bounds the start and the end of a cluster; a busy machine takes
	// seconds for what a quiet one does in a tenth of one.
	patience = time.Minute
	// poll is how often is asked which nodes are up.
	poll = 20 * time.Millisecond
)

var (
	// ErrStart means that the cluster did not come up.
	ErrStart = errors.New("the cluster did not come up")
	// ErrStop means that the cluster did not end by itself and was killed.
	ErrStop = errors.New("scored dev did not end")
)

// Options of a cluster; the first three are needed.
type Options struct {
	// Scored is the path of the program.
	Scored string
	Socket string
	Nodes  int
	// Wrapper is a command that executes the program, as setpriv does; default: none.
	Wrapper []string
	// Channels of each node; default: those of scored dev.
	Channels int
	// Dir is its working directory; default: this process's.
	Dir string
	// Env is its environment; default: this process's.
	Env []string
	// Output gets what it prints for its user, and Errors what goes wrong;
	// default: nobody, and standard error.
	Output, Errors io.Writer
}

// Dev is a running `scored dev`, with a client of its daemon.
type Dev struct {
	*client.Client
	Socket  string
	command *exec.Cmd
	ended   chan struct{} // closed at its end
}

// Start starts a cluster that lasts until Stop, at most as long as this process.
// The error wraps ErrStart.
func Start(ctx context.Context, o Options) (*Dev, error) {
	if o.Errors == nil {
		o.Errors = os.Stderr
	}
	c := &Dev{Socket: o.Socket, ended: make(chan struct{})}
	line := append(slices.Clone(o.Wrapper), o.Scored, "dev", "--nodes", strconv.Itoa(o.Nodes), "--socket", o.Socket)
	c.command = exec.Command(line[0], line[1:]...)
	if o.Channels != 0 {
		c.command.Args = append(c.command.Args, "--channels", strconv.Itoa(o.Channels))
	}
	c.command.Dir, c.command.Env = o.Dir, o.Env
	c.command.Stdout, c.command.Stderr = o.Output, o.Errors
	c.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := c.command.Start(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	go func() {
		_ = c.command.Wait() // only that it ended matters
		close(c.ended)
	}()
	c.Client = client.New(o.Socket)
	if err := c.await(ctx, o.Nodes); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrStart, err), c.Stop())
	}
	return c, nil
}

// PID is the process of the program.
func (c *Dev) PID() int { return c.command.Process.Pid }

// Stop ends the cluster, unless it has ended already, and waits. The error wraps
// ErrStop.
func (c *Dev) Stop() error {
	c.Close()
	_ = c.command.Process.Signal(syscall.SIGTERM) // may have ended by itself
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-c.ended:
		return nil
	case <-limit.C:
	}
	_ = c.command.Process.Kill() // may have ended by itself
	<-c.ended
	return fmt.Errorf("%w within %v and was killed", ErrStop, patience)
}

func (c *Dev) await(ctx context.Context, nodes int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("%d nodes were not up within %v", nodes, patience))
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for c.up(ctx) != nodes {
		select {
		case <-c.ended:
			return fmt.Errorf("scored dev ended: %v", c.command.ProcessState)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}

// up counts the nodes that are up; none before the daemon answers.
func (c *Dev) up(ctx context.Context) int {
	reply, err := c.Cluster.ListNodes(ctx, connect.NewRequest(&scorev1.ListNodesRequest{}))
	if err != nil {
		return 0
	}
	up := 0
	for _, n := range reply.Msg.GetNodes() {
		if n.GetUp() {
			up++
		}
	}
	return up
}
