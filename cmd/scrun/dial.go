package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/cmd/scored/parentwatch"
	"score/scored/client"
	"time"
)

// embeddedTimeout bounds the start of an embedded cluster. The start takes some 30 ms, but longer
// on a machine that swaps.
const embeddedTimeout = 30 * time.Second

// errNoDaemonProgram means that the embedded cluster's program is missing.
var errNoDaemonProgram = errors.New(
	"no cluster is configured on this host, and the program scored, which runs one for the job, is neither in scrun's directory nor in PATH: install it, or name a cluster's socket with --cluster",
)

// connection is the cluster to which the job is submitted.
type connection struct {
	*client.Client
	// own is the embedded cluster's process, nil for a daemon's.
	own *parentwatch.Child
}

// Close ends an embedded cluster with everything that it runs.
func (r *connection) Close() {
	r.Client.Close()
	if r.own != nil {
		r.own.Stop()
	}
}

// embed starts a cluster for this user on this machine.
func embed(ctx context.Context) (*connection, error) {
	program, err := findScored()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, embeddedTimeout,
		fmt.Errorf("the cluster for this job was not ready within %v", embeddedTimeout))
	defer cancel()
	command := exec.Command(program, "embedded")
	command.Stderr = os.Stderr
	own, err := parentwatch.Start(ctx, command)
	if err != nil {
		return nil, err
	}
	return &connection{Client: client.New(own.ReadyText()), own: own}, nil
}

// findScored returns the path of scored. It prefers the program in scrun's directory, since both
// must have the same version.
func findScored() (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "scored")
		if isProgram(beside) {
			return beside, nil
		}
	}
	program, err := exec.LookPath("scored")
	if err != nil {
		return "", errNoDaemonProgram
	}
	return program, nil
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
