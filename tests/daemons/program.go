package daemons

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/scored/client"
	"strings"
	"syscall"
)

// errCommand is wrapped by the errors of scored's commands.
var errCommand = errors.New("a command failed")

// Program prepares one of the cluster's programs, which calls the daemon at a socket. It bears the
// cluster's Mark, and is killed if the test's process dies.
func (c *Cluster) Program(ctx context.Context, socket, name string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, filepath.Join(c.Bin, name), arguments...)
	command.Dir = c.Dir
	command.Env = append(os.Environ(), client.SocketVariable+"="+socket, Mark+"="+c.Dir)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return command
}

// Command runs one of scored's commands for the server with this socket, and returns its output.
// The error has its standard error.
func (c *Cluster) Command(ctx context.Context, socket string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, filepath.Join(c.Bin, "scored"), args...)
	command.Env = append(os.Environ(), client.SocketVariable+"="+socket)
	var said strings.Builder
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("%w: scored %s: %w: %s", errCommand, strings.Join(args, " "), err, said.String())
	}
	return string(out), err
}
